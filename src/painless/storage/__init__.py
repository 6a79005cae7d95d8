"""Files that are written atomically, and read without running or trusting what they contain."""
