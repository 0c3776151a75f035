// For the tests of programs that use CloudKit: a trait that gives each test a store of its own.

@_exported public import StratusKit
