"""What finds evidence in a paper, without seeing a label."""
