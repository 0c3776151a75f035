// Stands here until the first test of this target does.
import Testing
