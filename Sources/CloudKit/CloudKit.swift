// What `import CloudKit` means where Apple's framework is not: Stratus, and Foundation, which Apple's module brings along.

@_exported public import Foundation
@_exported public import StratusKit
