"""Subjects of the lab: our own backends (`own`) and other people's libraries (`peer`)."""
