// Values as arguments of formats: clients write `NSPredicate(format: "owner == %@ AND date > %@", reference, date)`, and
// `String(format: "%@", recordID)`.
//
// A text of a format can only take objects of Foundation's own; for `%@` each of these stands with its description, which
// the list of arguments keeps alive. A predicate is given the values themselves.

public import Foundation

/// A value that a format takes by its description.
public protocol StratusFormatArgument: _CVarArgObject {}

extension StratusFormatArgument {
    /// The description.
    public var _cVarArgObject: any CVarArg { NSString(string: "\(self)") }

    /// No object: one made here would be gone before it is used.
    public var _cVarArgEncoding: [Int] { [0] }
}

extension CKRecordID: StratusFormatArgument {}
extension CKRecordZoneID: StratusFormatArgument {}
extension CKReference: StratusFormatArgument {}
extension CKAsset: StratusFormatArgument {}
extension CLLocation: StratusFormatArgument {}
extension NSDate: StratusFormatArgument, @retroactive CVarArg, @retroactive _CVarArgObject {}
extension NSArray: StratusFormatArgument, @retroactive CVarArg, @retroactive _CVarArgObject {}
extension Date: StratusFormatArgument, @retroactive CVarArg, @retroactive _CVarArgObject {}
extension Array: StratusFormatArgument, @retroactive CVarArg, @retroactive _CVarArgObject {}
