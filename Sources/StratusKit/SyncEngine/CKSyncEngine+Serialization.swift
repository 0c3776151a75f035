// An engine's state as programs store it. The content is encoded only when a program does so: an engine tells of its state
// after every request, and most of what it tells is replaced before anybody stores it.
//
//   {"data": the bytes of}
//   {
//     "version": 1,
//     "container", "scope", "user":        whose state it is (X-24: tokens are sealed, and refused by any other)
//     "token":                             of the database
//     "zones": [{"name", "owner", "token", "unfetched", "pending", "isDeletion", "encryptionScope"}]
//         unfetched    its place among the zones that are to be fetched
//         pending      its place among the zones that are to be sent
//     "records": [{"zone": place in zones, "name", "isDeletion"}]
//     "hasUntracked"
//   }
//
// Never change the meaning of a version: programs keep what was written.

import Foundation

extension CKSyncEngine.State {
    /// An engine's state, to be stored by the program and given to the next engine (E-09). What is in it is the engine's
    /// own. It is good for the same account and database; an engine of another one begins anew (E-10).
    public struct Serialization: Codable, Sendable {
        let content: SyncContent

        init(content: SyncContent) { self.content = content }

        private enum Key: String, CodingKey {
            case data
        }

        /// Decodes a state.
        /// - Parameter decoder: Where from.
        /// - Throws: `DecodingError.dataCorrupted` for what no engine of this version has written: begin anew, with nil.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            let data = try container.decode(Data.self, forKey: .data)
            do {
                content = try SyncArchive.content(of: data)
            } catch {
                throw DecodingError.dataCorruptedError(
                    forKey: .data, in: container,
                    debugDescription: "This is no state of a sync engine, or a damaged one: begin anew (\(error)).")
            }
        }

        /// Encodes the state.
        /// - Parameter encoder: Where to.
        /// - Throws: What the encoder throws.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(try SyncArchive.data(of: content), forKey: .data)
        }
    }
}
