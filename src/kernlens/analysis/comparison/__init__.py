"""What differs between two sets of programs: pairs, figures, source lines, instructions, stages."""
