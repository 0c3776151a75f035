// The code of the guide's pages, compiled and run by tests.
//
// The code between `// snippet` and `// end` is on a page, word for word: a tidy test compares them. A snippet's
// function takes what the snippet needs, and returns what it found.

/// A function for each piece of the guide.
public enum Guide {}
