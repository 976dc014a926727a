"""The web console: pages for signed-in users."""
