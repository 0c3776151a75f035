// Metadata of shares in archives of Apple's systems.
//
// Apple identifies the share to its servers by tokens, which are of no use here and are not read. Our server asks by the
// URL, which stands under a key of our own, and in the share.

import Foundation
import StratusStore

extension CKShareMetadata {
    private typealias Key = CoderKey.Apple

    /// Of an archive of Apple's; nil where it names no share or no container.
    convenience init?(ofApple coder: NSCoder) {
        guard let share = coder.decodeValue(of: CKShare.self, forKey: Key.share), !share.isDamaged,
            let container = coder.decodeValue(of: ArchivedContainerID.self, forKey: Key.container)
        else { return nil }
        guard !coder.hasForeignMembers(CKRecordID.self, forKey: Key.hierarchy) else { return nil }
        let caller = coder.decodeValue(of: CKShareParticipant.self, forKey: Key.callingParticipant)?.facts
        let owner = coder.decodeValue(of: CKUserIdentity.self, forKey: Key.ownerIdentity) ?? share.owner.userIdentity
        let rootID = coder.decodeValue(of: CKRecordID.self, forKey: Key.rootRecordID)
        let root = coder.decodeValue(of: CKRecord.self, forKey: Key.rootRecord)
        let isListed = share.sharing.withLock { sharing in
            if let rootID { sharing.rootID = rootID }
            guard sharing.participant(caller?.id) != nil else { return false }
            sharing.currentUserID = caller?.id
            return true
        }
        func number(_ key: String) -> Int { Int(clamping: coder.decodeNumber(forKey: key)) }
        var facts = Facts(
            url: coder.decodeText(forKey: CoderKey.url) ?? share.url?.absoluteString ?? "",
            container: container.identifier, role: number(Key.callerRole), status: number(Key.callerStatus),
            permission: number(Key.callerPermission), owner: IdentityFacts(owner))
        let rootType = coder.decodeText(forKey: Key.rootRecordType)
        let hierarchy = coder.decodeMembers(of: CKRecordID.self, forKey: Key.hierarchy)?.map(\.recordName)
        // What share and root say too is not kept twice: two that say the same are equal (C-18).
        facts.caller = isListed ? nil : caller
        facts.rootType = rootType == root?.recordType ? nil : rootType
        facts.hierarchy = hierarchy == [rootID?.recordName ?? ""] || hierarchy?.isEmpty == true ? nil : hierarchy
        facts.environment = container.environment == 0 ? nil : Int(clamping: container.environment)
        self.init(facts, share: share, root: root)
    }

    func encodeForApple(share: CKShare, root: CKRecord?, with coder: NSCoder) {
        let rootID = hierarchicalRootRecordID
        let names = facts.hierarchy ?? rootID.map { [$0.recordName] } ?? []
        let zoneID = share.recordID.zoneID
        let caller =
            facts.caller.map { CKShareParticipant($0) }
            ?? share.currentUserParticipant.map { participant in
                var facts = participant.facts
                facts.isCurrentUser = true
                return CKShareParticipant(facts)
            }
        coder.encode(share, forKey: Key.share)
        coder.encodeText(facts.url, forKey: CoderKey.url)
        coder.encode(
            ArchivedContainerID(identifier: facts.container, environment: Int64(facts.environment ?? 0)),
            forKey: Key.container)
        coder.encode(ownerIdentity, forKey: Key.ownerIdentity)
        coder.encode(caller, forKey: Key.callingParticipant)
        coder.encode(Int64(facts.role), forKey: Key.callerRole)
        coder.encode(Int64(facts.status), forKey: Key.callerStatus)
        coder.encode(Int64(facts.permission), forKey: Key.callerPermission)
        coder.encode(rootID, forKey: Key.rootRecordID)
        coder.encodeText(facts.rootType ?? root?.recordType, forKey: Key.rootRecordType)
        coder.encode(root, forKey: Key.rootRecord)
        coder.encode(
            NSArray(array: names.map { CKRecordID(recordName: $0, zoneID: zoneID) }), forKey: Key.hierarchy)
    }
}

/// The identifier of a container, as Apple archives it.
final class ArchivedContainerID: NSObject, NSSecureCoding {
    let identifier: String
    /// Apple's number of the environment: of development or production.
    let environment: Int64

    init(identifier: String, environment: Int64) {
        self.identifier = identifier
        self.environment = environment
        super.init()
    }

    convenience init?(coder: NSCoder) {
        guard let identifier = coder.decodeText(forKey: CoderKey.Apple.containerIdentifier) else { return nil }
        self.init(
            identifier: identifier, environment: coder.decodeNumber(forKey: CoderKey.Apple.containerEnvironment))
    }

    static var supportsSecureCoding: Bool { true }

    override class func classFallbacksForKeyedArchiver() -> [String] { ["CKContainerID"] }

    func encode(with coder: NSCoder) {
        coder.encodeText(identifier, forKey: CoderKey.Apple.containerIdentifier)
        coder.encode(environment, forKey: CoderKey.Apple.containerEnvironment)
    }
}
