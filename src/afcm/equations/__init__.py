"""The mathematics: one pure function per equation, arrays in and arrays out."""
