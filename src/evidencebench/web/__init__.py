"""What is read from servers: addresses checked, answers bounded in time and size."""
