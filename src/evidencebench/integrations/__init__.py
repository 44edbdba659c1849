"""What speaks the interfaces of other tools."""
