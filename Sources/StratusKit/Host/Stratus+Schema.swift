// The schemas of a store's containers, in Apple's schema language.

import StratusCloud
import StratusModel

extension Stratus {
    /// Replaces the schema of a container with what a text in Apple's schema language, the content of a `.ckdb` file,
    /// defines. The text is the whole schema. In production a schema may only grow; a field's type never changes.
    ///
    /// - Parameters:
    ///   - text: The schema.
    ///   - identifier: The container.
    /// - Throws: ``StratusError`` with `invalidArgument`, which names the line and column of a mistake, or the type and
    ///   field in the way. Nothing is changed then.
    public func importSchema(_ text: String, intoContainer identifier: String) throws {
        try asking { try $0.importSchema(text, into: ContainerName(identifier)) }
    }

    /// The schema of a container as text, which can be imported again.
    ///
    /// - Parameter identifier: The container.
    /// - Returns: The text, empty of types for a container without records.
    /// - Throws: ``StratusError`` where the store fails or was closed.
    public func exportSchema(ofContainer identifier: String) throws -> String {
        try asking { try $0.exportSchema(of: ContainerName(identifier)) }
    }
}
