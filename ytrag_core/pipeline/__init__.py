"""Sources to a snapshot: the stages of a build in order."""
