"""Row rules: checks of single rows, declared in the manifest."""
