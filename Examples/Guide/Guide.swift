// The code of the guide's pages, compiled and run by tests.
//
// What stands between `// snippet` and `// end` is on a page, word for word: a tidy test compares them. What a snippet
// needs is given to its function, and what it has found out is returned.

/// A function for each piece of the guide.
public enum Guide {}
