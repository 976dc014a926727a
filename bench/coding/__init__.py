"""Days of coding agents: four projects with tool output, and questions about them."""
