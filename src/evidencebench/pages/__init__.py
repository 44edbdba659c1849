"""What people look at: figures, the paper view, the app and the report."""
