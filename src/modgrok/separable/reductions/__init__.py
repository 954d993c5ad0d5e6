"""What makes a question smaller or another: distinct lines, groups, fewer variables, unknown cells."""
