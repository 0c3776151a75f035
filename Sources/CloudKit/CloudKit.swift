// Makes `import CloudKit` work where Apple's framework is missing: exports Stratus, and Foundation, as Apple's module
// does.

@_exported public import Foundation
@_exported public import StratusKit
