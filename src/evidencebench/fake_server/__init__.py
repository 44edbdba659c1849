"""A model server for trials and tests on loopback, whose answers are known and whose faults are drawn from a seed."""
