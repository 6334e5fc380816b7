"""The differences between two sets of programs: pairs, figures, source lines, instructions, stages."""
