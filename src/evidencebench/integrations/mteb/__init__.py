"""The tasks of this benchmark as task objects of mteb, so that its models can be evaluated: `tasks`."""
