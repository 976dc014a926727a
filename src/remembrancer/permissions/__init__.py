"""What agents may do to system files: grants of the owner, and the audit trail."""
