"""What tests share: made data and papers, servers and models for trials, browsers, and ways to call the package."""
