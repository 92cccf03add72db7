"""The distractors, by what they change."""
