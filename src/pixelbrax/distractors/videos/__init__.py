"""Video clips for distractors: banks of clips in memory, and where they come from."""
