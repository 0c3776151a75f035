// Records as they cross the line between client and server.

package import FoundationEssentials
import StratusModel

/// A record as the server hands it out.
package struct ClientRecord: Hashable, Codable, Sendable {
    package var address: RecordAddress
    package var type: String
    package var changeTag: String
    package var creationDate: Date
    package var modificationDate: Date
    /// Record names of user records, `__defaultOwner__` for the caller's own.
    package var creatorUserName: String
    package var lastModifiedUserName: String
    package var parent: ClientReference?
    package var share: ClientReference?
    /// All fields, or those that were asked for.
    package var fields: ClientFields
    /// Who takes part, where the record is a share.
    package var sharing: ClientShare?
}

// In an extension, so that there is an initialiser of the members beside it, which copies nothing.
extension ClientRecord {
    package init(
        address: RecordAddress, type: String, changeTag: String, creationDate: Date, modificationDate: Date,
        creatorUserName: String, lastModifiedUserName: String, parent: ClientReference? = nil,
        share: ClientReference? = nil, fields: [String: ClientField] = [:], sharing: ClientShare? = nil
    ) {
        self.init(
            address: address, type: type, changeTag: changeTag, creationDate: creationDate,
            modificationDate: modificationDate, creatorUserName: creatorUserName,
            lastModifiedUserName: lastModifiedUserName, parent: parent, share: share, fields: ClientFields(fields),
            sharing: sharing)
    }
}

/// A record that a client wants saved. Everything here is a claim.
package struct RecordSave: Hashable, Codable, Sendable {
    package var address: RecordAddress
    package var type: String
    /// The tag of the version the client started from; nil for a record it believes to be new.
    package var baseTag: String?
    package var parent: ClientReference?
    package var isParentChanged: Bool
    package var share: ClientReference?
    /// All values the client holds.
    package var fields: [String: ClientField]
    /// The keys set since the record was fetched or made, those set to nil included (C-03).
    package var changedKeys: Set<String>
    /// The text of a misuse that raises an exception on Apple's systems, remembered to fail the save.
    package var misuse: String?
    /// Where the record was fetched or saved before, when it was.
    package var origin: RecordOrigin?
    /// Who is to take part, where the record is a share.
    package var sharing: ShareClaim?

    package init(
        address: RecordAddress, type: String, baseTag: String? = nil, parent: ClientReference? = nil,
        isParentChanged: Bool = false, share: ClientReference? = nil, fields: [String: ClientField] = [:],
        changedKeys: Set<String> = [], misuse: String? = nil, origin: RecordOrigin? = nil,
        sharing: ShareClaim? = nil
    ) {
        self.address = address
        self.type = type
        self.baseTag = baseTag
        self.parent = parent
        self.isParentChanged = isParentChanged
        self.share = share
        self.fields = fields
        self.changedKeys = changedKeys
        self.misuse = misuse
        self.origin = origin
        self.sharing = sharing
    }
}
