// What clients ask about people whom they want to invite, and what all requests for shares by their URLs have in common.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords

extension CloudService {
    /// People as participants of a share that they are not in yet (P-01), in the order of `lookups`. Each has an
    /// identifier of their own; nothing is written.
    ///
    /// Throws as `resolveInvited`.
    package func shareParticipants(
        for lookups: [IdentityLookup], as caller: Caller
    ) throws(CloudError) -> [Result<ClientParticipant, CloudError>] {
        let people = try resolveInvited(lookups, as: caller, reporting: .shareParticipants)
        let own = try requireAccount(caller).userName
        return people.map { person in
            person.map { person in
                ClientParticipant(
                    id: makeParticipantID().text,
                    identity: ClientIdentity(
                        lookup: person.lookup,
                        userName: person.userName.map { $0 == own ? ZoneAddress.currentUser : $0.text },
                        name: person.name, hasAccount: person.hasAccount))
            }
        }
    }

    /// What a caller may know of the share that a record is; nil for every other record, and where the record was
    /// read without the field that holds it. `own` is the caller's own entry where their user name does not tell.
    func sharing(
        of stored: StoredRecord, zone: ZoneAddress, viewer: UserName?, own: ParticipantID? = nil,
        in reader: RecordReader
    ) throws -> ClientShare? {
        guard let content = try stored.record.shareContent() else { return nil }
        let view = ShareView(content, zone: zone, viewer: viewer, own: own, urlBase: options.shareURLBase)
        return view.share(try SharePeople(in: view, accountDirectory, reader))
    }

    /// A share's record as a caller may know it.
    func shownShare(
        _ stored: StoredRecord, zone: ZoneAddress, viewer: UserName?, own: ParticipantID? = nil,
        in reader: RecordReader
    ) throws -> ClientRecord {
        var record = ClientRecord(stored, zone: zone, viewer: viewer)
        record.sharing = try sharing(of: stored, zone: zone, viewer: viewer, own: own, in: reader)
        return record
    }

    /// The name of somebody new in a share; drawn before the transaction.
    func makeParticipantID() -> ParticipantID { ParticipantID(environment.identifiers.makeUUID().uuidString) }

    /// Throws where nothing of the container can be shared (P-19).
    func requireSharing(in container: ContainerName) throws(CloudError) {
        guard !options.isSharingEnabled(in: container) else { return }
        throw CloudError(
            .permissionFailure, inner: CloudError.InnerCode.permission,
            "Shared zone update is not enabled for container"
        ).ofSharing(rule: "P-19")
    }

    /// An item that may fail by itself; the store's failures are those of the request.
    func item<Value>(_ body: () throws -> Value) throws -> Result<Value, CloudError> {
        do { return .success(try body()) } catch let error as CloudError { return .failure(error) }
    }
}
