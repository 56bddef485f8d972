"""Files of numbers and text that are safe to read: one zip reader and one codec for all that afcm reads."""
