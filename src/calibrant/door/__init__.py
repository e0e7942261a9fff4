"""The door: what a user passes is read, checked and pooled here, once."""
