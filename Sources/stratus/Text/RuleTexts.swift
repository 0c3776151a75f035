// The texts of the rules. scripts/compatibility writes this file from Docs/Compatibility/rules.tsv: change that.
// A tidy test compares the two.

extension BehaviourRule {
    /// A line has number, strength and text. Two spaces continue a text; '=' begins the wording of a ruling.
    static let texts = """
        L-01 must Over 400 items or 2 MB (without assets) per request fails whole with limitExceeded
        L-02 choice Older 200-item limits exist; any item threshold up to 400 is tolerated by clients
        L-03 must A record over 1 MB (without assets) fails with limitExceeded
        L-04 choice Asset size limit is configurable (50 MB in old documents, native limit unpublished)
        L-05 must At most 750 deleteSelf references to one target, then limitExceeded
        L-06 must At most 1000 zones per container database and 256 fields per record type
        L-07 must recordName is non-empty, at most 255 characters, most UTF-8 accepted
        L-08 must zoneName is non-empty, at most 255 ASCII characters, must not begin with underscore
        L-09 must Schema names: letter first, letters digits _, at most 255; leading _ reserved; system names exempt
        L-10 must Client key check [A-Za-z_][A-Za-z0-9_$]*; system names exempt
        L-11 must IN predicate lists hold at most 250 values, then limitExceeded
        L-12 must At most 100 participants per share, then tooManyParticipants
        L-13 must NotificationInfo.desiredKeys holds at most 3 keys of restricted value types
        L-14 choice Default page is about 200 records when resultsLimit is 0; server may lower larger limits
        L-15 must CKSyncEngine automatic batches hold at most 250 changes and obey a byte cap
        L-16 must Throttling is reported with CKErrorRetryAfterKey; 6 from server, 7 while window is open
        L-17 must String arguments embedded in pushes may be truncated to 100 characters
        C-01 must CKRecord and CKRecordZone use identity equality; ID and Reference types value equality
        C-02 must A fresh record has nil change tag, dates and user IDs
        C-03 must changedKeys lists keys set since last save, including nil; allKeys omits removed keys
        C-04 must The instance passed in receives the server fields after a save (a share: its url)
        C-05 must encodeSystemFields omits user keys; decoded record has no values and empty changedKeys
        C-06 must Full secure coding keeps values
        C-07 must Unsupported value classes raise; values are copied on set; arrays hold supported types only
        C-08 must encryptedValues refuses assets and references; not queryable, sortable, nor in public DB
        C-09 must parent must have action .none; setParent(nil) clears it
        C-10 must CKAsset init does not check the file; save reports 16 missing, 17 modified, 35 unreadable
        C-11 must CKRecordZone.default() is one object; local zones have empty capabilities and nil share
        C-12 must CKShare(rootRecord:) is named Share-UUID in root's zone, sets root.share; other zone traps
        C-13 must CKShare(recordZoneID:) is always named CKRecordNameZoneWideShare
        C-14 must Share url is nil until the share has been saved
        C-15 must participants holds owner and current user; both accessors look them up there
        C-16 must addParticipant updates a known identity; instances stay with one share; bad removal raises
        C-17 must Adding or removing participants is legal only while publicPermission is none
        C-18 must Participant defaults are privateUser and readOnly; equality means same person
        C-19 must Opaque types cannot be initialised by clients; nil arguments raise CKException
        C-20 must CKQuery with an empty record type raises
        C-21 must Bool is stored as INT64 0/1; ints come back as Int64/NSNumber
        C-22 choice CKRecord offers explicit equivalents of setValue/value(forKey:) on Linux
        S-01 must ifServerRecordUnchanged compares tags, sends edited keys; mismatch is serverRecordChanged
        S-02 must changedKeys and allKeys skip the tag check; server-only keys stay in place
        S-03 must A CKShare is always saved as ifServerRecordUnchanged
        S-04 must Inserting over an existing ID is serverRecordChanged with the server record in userInfo
        S-05 must serverRecordChanged carries server, client and ancestor records
        S-06 must Conflicts resolve by merging into and saving the server record; client's tag is stale
        S-07 must Assets in a conflict's server record have nil fileURL
        S-08 choice Saving a record deleted on the server fails with unknownItem
        S-09 must Each save assigns a new tag, date and modifier; the first also creation date and creator
        S-10 must Saving a child may change the parent's tag without a feed entry
        S-11 must Same ID saved or deleted twice, or both, in one operation is invalidArguments for all
        S-12 must Saving into a missing zone is zoneNotFound; into a user-deleted zone userDeletedZone
        S-13 must Production rejects unknown types or fields; development creates schema on the fly
        S-14 must A wrong value type for an existing field is invalidArguments
        S-15 must User records are system-created: fetch by ID only, modified by their owner, no query
        S-16 must Writes charge the data owner's quota; over it quotaExceeded; public data charges the app
        S-17 must Writing without account is notAuthenticated; locked account 36; public stays readable
        S-18 must Public DB: world reads, users create, only creator writes; denied is permissionFailure
        S-19 must Fetching a missing record is unknownItem
        S-20 choice Deleting a missing record succeeds without a feed entry
        S-21 must serverResponseLost means the write may have happened; re-issue or refetch
        A-01 must isAtomic defaults true; atomicity is per zone and only where the zone has .atomic
        A-02 must A failed atomic zone writes nothing; culprit has own error, others batchRequestFailed
        A-03 must Client-side checks fail the batch even for non-atomic zones when isAtomic
        A-04 choice Encrypted-field records may fail atomically even when atomically is false
        A-05 must isAtomic false lets each record stand alone, even in custom zones
        A-06 must partialFailure maps item ID to error; the key type follows the operation
        A-07 must partialFailure goes only to deprecated completion blocks; result blocks get success
        A-08 must Single-item conveniences unwrap the item result and throw its own error
        A-09 choice Batch modifyRecords returns per-item results and throws only request-level errors
        A-10 choice Batch fetches return one Result per requested ID; duplicates collapse
        A-11 must Item order in an atomic batch is irrelevant for parents and children
        R-01 must References stay inside one database and zone, else invalidArguments
        R-02 must Action none: deleting the target leaves the dangling reference untouched
        R-03 must deleteSelf: deleting the target deletes holders recursively, at once in custom zones
        R-04 must Cascaded deletions are not in the operation's callbacks but in the zone feed
        R-05 must Circular references are allowed
        R-06 must Ordinary references need not resolve at save time
        R-07 must parent target must exist or be in the batch, else referenceViolation
        R-08 must Deleting a record that is still a parent is referenceViolation unless children go too
        R-09 must Parent links never cascade; a second deleteSelf reference makes the subtree deletable
        R-10 choice Parent is in the same zone; parent cycles are rejected
        R-11 must Batch failures propagate: missing parent 31, child of quota failure 25, of 31 internalError
        R-12 choice parent makes saves about twice as expensive on the real service
        R-13 must A shared root's own parent is irrelevant; its ancestors cannot be shared separately
        R-14 must One record owns an asset; clearing the field or deleting the record collects it
        Z-01 must Only private databases take custom zones; creating them elsewhere fails (badDatabase)
        Z-02 must Custom private zones have all four capabilities; the default zone has none
        Z-03 choice Saving an existing zone is an idempotent success
        Z-04 must Deleting a zone deletes its content; default zone stays; unknown zone is zoneNotFound
        Z-05 must allRecordZones includes the default zone; in shared DB only zones of other people
        Z-06 must encryptionScope is fixed at creation; perZone zones can only be shared zone-wide
        Z-07 must Zone deletion reasons are deleted, purged and encryptedDataReset
        Z-08 must zoneNotFound with user-reset-encrypted-data key true means encryptedDataReset
        Z-09 must zoneBusy reports concurrent writers on one zone; retry after delay
        SH-01 must Sharing works only in custom zones of the private database
        SH-02 must Share lives in the root's zone as an ordinary record of type cloudkit.share
        SH-03 must Saving root and share together sets the root's share reference
        SH-04 must A share's first save must include its root, else invalidArguments; zone-wide saves alone
        SH-05 must Everything whose parent chain reaches the root is shared, also later additions
        SH-06 must A record belongs to one share only; siblings may be in different shares
        SH-07 must A record landing in two hierarchical shares is alreadyShared
        SH-08 must A second share for a shared root is alreadyShared, or 14 with same ID or a stale root
        SH-09 must Zone-wide share: one per zone, excludes hierarchical shares; a second one is alreadyShared
        SH-10 must Owner deleting the share stops sharing, keeps records and clears root.share
        SH-11 must Owner deleting the root deletes the share too
        SH-12 must Share url is made on first save and stable for the root, also after re-sharing
        SH-13 must Participant, permission and key changes show the share as modified in feeds
        SH-14 choice Share URL form is opaque; an implementation may choose its own scheme
        SH-15 must Share title, thumbnail and type keys are optional and display only
        SH-16 choice Shares with an administrator are read-only to older OS versions
        P-01 must Participants come from lookup; unknown handles give hasiCloudAccount false
        P-02 must New participants are pending, accepted after accept; removed exists as a status
        P-03 must nameComponents and userRecordID fill once known; lookupInfo records the invitation
        P-04 must Roles owner, administrator, privateUser, publicUser; owners cannot add public users
        P-05 must Private shares admit invitees only; public ones anyone with the URL as publicUser
        P-06 must Any change of publicPermission removes pending participants; accepted ones become public users
        P-07 choice Setting publicPermission to none removes all but owner and those re-added before save
        P-08 must A participant's view of the list may be reduced; owner and self are guaranteed
        P-09 choice Permission none on an individual participant means no access
        P-10 must Read-write participants modify, delete, add; read-only writes are permissionFailure
        P-11 must Participants may create only records whose parent chain reaches the shared root
        P-12 must Only the owner can delete the root; others get permissionFailure
        P-13 must A participant deleting the CKShare in the shared DB leaves; others are unaffected
        P-14 must Only owner and administrators change participants, permissions and access fields
        P-15 must A removed participant loses share and records from the shared database
        P-16 must One-time-URL participants: oneTimeURL stable after save; any single user may claim it
        P-17 must Being already invited differently is participantAlreadyInvited
        P-18 must Metadata for a non-participant with unmatched invitees is participantMayNeedVerification
        P-19 must Sharing disabled for the container is permissionFailure on shared zone update
        P-20 must Access requests: off by default; approve, deny, block persist when the share is saved
        P-21 must dateAddedToShare is set by the server when the share is saved
        P-22 must CKShareRequestAccessOperation ends per URL with Void or error; success means recorded
        M-01 must Metadata comes from any container; acceptance runs in the one it names
        M-02 must rootRecord only if shouldFetchRootRecord; zone-wide has nil hierarchicalRootRecordID
        M-03 must Metadata reports caller's role, status, permission and owner identity
        M-04 must Outsiders of a private share get the unknown-URL error while access requests are off
        M-05 must A stopped share or unknown URL is unknownItem
        M-06 must Accept returns the updated share; accepting twice or one's own share is harmless
        M-07 choice Shared zone may become visible after accept completes; it can be immediate
        M-08 must Before acceptance nothing appears in the invitee's shared database feeds
        D-01 must The shared database is a window on other users' private zones; one physical copy
        D-02 must Shared zone IDs carry the owner's user name; the owner's own name maps to default owner
        D-03 must Hierarchical share shows share, root and descendants; shares of one zone merge
        D-04 must A zone-wide share shows all records of the zone
        D-05 must Own zone through shared DB is 12; other's zone through private DB is refused
        D-06 must Accepting adds a new zone to database changes, or a zone change if already visible
        D-07 must Zones cannot be created in the shared DB; leave by deleting the share
        D-08 must Losing a zone's last shared root is a zone deletion; one of several, record deletions
        D-09 must Queries in the shared DB need a zone
        D-10 must Shared DB has database subscriptions only, no zone or query subscriptions
        D-11 choice Participants' writes record their user IDs, opaque names in the default zone
        D-12 choice Reparenting out of or into the shared tree is a deletion or modification to participants
        T-01 must Database and zone tokens differ in kind, are opaque, archivable, and scoped
        T-02 must Database changes in private and shared only; default zone changes fail with 15
        T-03 must fetchAllChanges true loops; token blocks fire between batches, not after the last
        T-04 must fetchAllChanges false and async calls give one page; moreComing may be true
        T-05 must Intermediate tokens stay valid even if the operation later errors
        T-06 choice Only the latest state per record is reported; deletion absorbs earlier changes
        T-07 must A deletion carries record ID and record type
        T-08 must A nil token returns live records and no full tombstone history
        T-09 must Too old token or re-created zone is changeTokenExpired; restart with nil
        T-10 must A deleted zone's token gives zoneNotFound or userDeletedZone
        T-11 must clientChangeTokenData is echoed with zone changes; repeated values are ignored
        T-12 choice Own writes also appear in one's own feed
        T-13 must Purged and encrypted-reset blocks replace the deleted block when set, else it is called
        T-14 must resultsLimit 0 lets the server decide; desiredKeys nil is all keys, empty is none
        T-15 must Feed order is not guaranteed; child may precede parent and share its root
        T-16 must Touching a parent creates no feed entry
        T-17 must Share accepted, left or removed follows D-06 and D-08; the share is in the zone feed
        T-18 must Per-zone errors arrive in that zone's result block; other zones continue
        Q-01 must Predicates are AND of simple comparisons; OR and complex NOT are invalidArguments
        Q-02 must Listed operators and functions only; no ALL, ENDSWITH, LIKE, MATCHES or key paths
        Q-03 must Server comparator vocabulary follows the CloudKit JS list
        Q-04 must CONTAINS on a field is list membership; only self CONTAINS is full text
        Q-05 must self CONTAINS matches any whole token, case- and diacritic-insensitive, minus stop words
        Q-06 choice BEGINSWITH is case-sensitive on strings; string equality is exact
        Q-07 choice Location supports only inside-circle; radius unit configurable, metres by default
        Q-08 must References compare by record identity; Reference, ID or record may stand on the right
        Q-09 must System fields are queryable by SystemFieldKey or property names
        Q-10 must Fields need queryable, sortable or searchable index; recordName is not auto-indexed
        Q-11 must Unknown record type is unknownItem; wrong literal type 12; Users cannot be queried
        Q-12 choice nil zoneID queries all zones in private and public; shared needs a zone
        Q-13 must Results follow sort order; distance sort is great-circle; without sort undefined
        Q-14 must nil cursor is the end; cursors are relative positions, archivable, short-lived
        Q-15 choice Index updates may lag behind saves; a store may be strictly consistent
        Q-16 must desiredKeys follow T-14; partial records saved back write only changed keys
        N-01 must Subscription types are tied to databases: query public/private, zone private, DB both
        N-02 must A private database subscription ignores the default zone
        N-03 choice nil notificationInfo is accepted as silent
        N-04 must Query subscription needs create, update or delete option; firesOnce deletes it after firing
        N-05 must Pushes go to the user's other devices, coalesce and may be dropped
        N-06 must Payload pruning follows a fixed order and sets isPruned
        N-07 must Re-saving a subscription ID replaces it; unknown IDs are unknownItem
        N-08 choice Subscriptions belong to one user, database and environment
        N-09 must Notification init returns nil for payloads without CloudKit content
        O-01 must add sets database or container and runs on an internal queue; own queues also work
        O-02 must A bare CKOperation raises; CKDatabaseOperation can be instantiated
        O-03 must One operation's callbacks run on one private serial queue, never inline or on main
        O-04 must Callback order: progress, items, zone, operation result once, then completionBlock
        O-05 must perRecordProgressBlock fires at least once per record with 1.0
        O-06 must When old and new per-item blocks are both set only the new one is called
        O-07 must Blocks are fixed at start; operations are single use
        O-08 must Cancel gives operationCancelled; blocks still come; server work done stays
        O-09 must Dependencies, priorities and concurrency limits work as for any Operation
        O-10 must Default QoS is .default; QoS decides timeout, retry and discretion
        O-11 choice Convenience methods run as userInitiated
        O-12 must Effective configuration: explicit operation, then explicit group default, then built-in
        O-13 must Groups are telemetry and defaults only, not transactional
        O-14 must Long-lived operations persist, replay callbacks when fetched, vanish after completion
        O-15 must Share-participant style operations with empty inputs succeed at once
        O-16 choice Save completion may precede index availability and share visibility
        O-17 must Current user record or ID without account is notAuthenticated
        O-18 must accountStatus returns noAccount instead of failing; changes post CKAccountChanged
        O-19 must Unknown container: badContainer or missingEntitlement on use; default() never traps
        E-01 must Send loop: willSend, database batches first, then record batches, didSend on nil
        E-02 must Fetch order: will, database changes, per-zone events, did; will and did are balanced
        E-03 must Concurrent fetchChanges may merge; without account they return silently
        E-04 must fetch and send return after events are handled, serially; awaiting inside delegate traps
        E-05 must Pending list is de-duplicated in first order; delete replaces save of the same ID
        E-06 must Successful and non-retryable changes leave pending; retryable ones stay
        E-07 must Only account, network, throttling and zoneBusy errors are retried automatically
        E-08 must Batch init walks pending up to the limit, skips nil records; atomicByZone default false
        E-09 must State is not persisted by the engine; stateUpdate also follows app-made changes
        E-10 must Account switch clears state and pending; offline switches collapse to one event
        E-11 must automaticallySync false disables all scheduling
        E-12 must Engine creates its own database subscription (overridable ID); several engines allowed
        E-13 must Pending changes added while handling sent events need not trigger another send
        E-14 must After a failed batch the engine may fetch before sending
        E-15 must prioritizedZoneIDs come first, unknown ones ignored; scope limits fetch and send
        E-16 must hasPendingUntrackedChanges schedules a sync asking for batches without pending list
        X-01 must A second hierarchical share: the share item fails with alreadyShared; a stale root with
          serverRecordChanged
        = A second hierarchical share on a shared root: the share item fails with `alreadyShared`, carrying the
          existing share; if the root in the same batch is stale it gets its own `serverRecordChanged`. The old share
          is never replaced. Zone-wide against hierarchical, both ways, and a second zone-wide share: `alreadyShared`.
        X-02 must Every sharing refusal names the rule, the record, the root and the share in the way
        = Every sharing refusal names the rule broken, the record, the root and the share in the way, in
          `localizedDescription` and as values in `userInfo`.
        X-03 must Owner deletes a hierarchical share: root.share becomes nil and the root appears in the change feed
        = When the owner deletes a hierarchical share, the root's `share` becomes nil and the root appears in the
          change feed.
        X-04 must Delete of an unknown record succeeds, by a switch it is unknownItem
        = Deleting an unknown record succeeds everywhere; a host's switch makes it `unknownItem`. Deleting an unknown
          zone is `zoneNotFound`; the same kind of switch makes the single-item convenience call succeed.
        X-05 must modificationDate rises strictly at every save of a record
        = `modificationDate` is strictly later at every save of a record, even within one clock tick.
        X-06 must The root's own parent is ignored for what a share covers, checked for alreadyShared, hidden from
          participants
        = A root's own `parent` is ignored for what the share covers; it is still checked for `alreadyShared`, and
          participants do not see it.
        X-07 must Custom reference fields never share, cover or grant anything
        = Only `parent` makes hierarchy. Custom reference fields never share, cover or grant anything.
        X-08 must Opening a share URL as an account binds the pending participant and accepts in one call
        = A tapped URL is `cloud.open(url, as: account)`: it finds the share, binds the pending participant whose
          handle the account owns (or the one-time participant), accepts, and returns the metadata. Handles are
          verified by the host when it adds them to an account.
        X-09 must Only accounts in good standing accept or use a share; a suspended participant keeps the place, not
          access
        = Anyone can be invited; only an account in good standing can accept or use a share. A participant whose
          account is suspended keeps the place and loses access until restored.
        X-10 must The 100 limit counts every participant but the owner: pending and public ones too
        = The limit of 100 counts all participants but the owner, pending and public ones included →
          `tooManyParticipants`.
        X-11 must Look-ups: malformed handle invalidArguments, unknown user record unknownItem, unknown handle a
          participant
        = `CKFetchShareParticipantsOperation`: an unknown e-mail or phone gives a participant with `hasiCloudAccount
          == false`; a malformed one fails its item with `invalidArguments`; an unknown user record with
          `unknownItem`.
        X-12 must permission and role set on an element of participants persist when owner or administrator saves the
          share
        = Setting `permission` or `role` on an element of `participants` takes effect when an owner or administrator
          saves the share.
        X-13 must Only owner and administrators change the share record itself; others get permissionFailure
        = Only owner and administrators change the share record (its keys included); another writer gets
          `permissionFailure`. Deleting it as a participant is leaving.
        X-14 must Public users always have the share's public permission, also after it is lowered
        = Public users have the share's public permission at all times, also after it is lowered.
        X-15 must Owner and administrators see all participants; others see owner, themselves and accepted ones
        = Owner and administrators see every participant, requester and blocked identity; others see the owner,
          themselves and accepted participants.
        X-16 must A removed participant is an outsider at once: metadata, feeds, fetches
        = A removed participant is an outsider at once, in fetches, feeds and metadata.
        X-17 must unknown status, role and permission are never produced, only decoded from foreign values
        = `unknown` for status, role and permission is only ever decoded from a foreign value, never produced.
        X-18 must A blocked person is refused like an outsider, with public and one-time URLs too
        = A blocked person is answered like an outsider, with a public or one-time URL too.
        X-19 must contact is freshly made with formatted name and handle
        = `contact` is freshly made from name components and handle.
        X-20 must owner, userIdentity, share, rootRecord and the other copying getters return copies
        = Properties that copy on Apple's systems (`owner`, `participants`' elements excepted, `userIdentity`,
          `share`, `rootRecord`, …) return copies.
        X-21 must A zone-wide share in a zone without zoneWideSharing is invalidArguments
        = A zone-wide share where `.zoneWideSharing` is missing, or any share in the default zone, the public database
          or another zone than its root: `invalidArguments` (public: `badDatabase`).
        X-22 must Decoded or foreign participants, roles, URLs, tags and metadata are claims, re-resolved by the
          server
        = What a client sends or decodes about participants, roles, statuses, URLs, tags and metadata is a claim; the
          server resolves it anew from its own data. Nobody makes themself owner, accepts for another, or adds public
          users.
        X-23 must A record fetched by one account and saved through another's database is invalidArguments
        = A record remembers the account it was fetched by; saving it through another account's database is
          `invalidArguments`.
        X-24 must Tokens and cursors are bound to account, database and zone and authenticated; others are refused
        = Change tokens and cursors are bound to account, database and zone and authenticated with a per-store key;
          any other is refused, a foreign token as X-30 says.
        X-25 must A programmer error on a record is remembered and fails its save with invalidArguments; trapping is
          opt-in
        = What raises an Objective-C exception on Apple's systems (a bad key, a bad value, a wrong action) must not
          end a host that serves many users: it is remembered on the object and fails its save with `invalidArguments`
          and the same text. Trapping at once is an option for development.
        X-26 must One-time URLs die with their participant; a share's own URL is stable
        = A share's URL is stable per root, across unshare and reshare. One-time URLs die with their participant.
        X-27 must Assets are deduplicated within one owner only; files handed out are private copies
        = Assets are stored once per owner, never across owners; files handed out are private copies. Only regular
          files are taken in; a decoded `CKAsset` carries no upload path.
        X-28 must CKContainer.default() resolves task-local, then process-wide, then embedded; operations capture it
          at init
        = `CKContainer.default()`, `CKContainer(identifier:)` and operations without a container resolve
          `Stratus.current`: a task-local value, else the process-wide one, else (unless the host has switched it off)
          the embedded default store. Operations capture it when created. `default()` never traps: if the store cannot
          be opened (held by another process, say) operations fail with `serviceUnavailable` naming the holder.
          Opening one path twice in a process shares one instance.
        X-29 must nothing of an archive is dropped in silence
        = Nothing of an archive is dropped in silence: what is not understood makes decoding fail, or is carried by
          the object, whose save then says so.
        X-30 must a foreign change token is answered with changeTokenExpired
        = A change token or cursor that is not this zone's, database's, account's or store's is answered with
          `changeTokenExpired` (cursor: `invalidArguments`), as if it were old: clients begin anew on that code. The
          text says whether it is old or not of this place; foreign and forged ones stay alike.
        X-31 must a query that names a field nobody has saved is refused where the schema was imported, else warned
          about
        = In development, a filter, sort or subscription that names a field nobody has saved is refused (12) where the
          type's schema was imported, else allowed, with one warning a type and field to the log and the event hook.
        X-32 must CKAccountChanged is posted with each container of the account as object
        = `CKAccountChanged` is posted once for each living `CKContainer` instance of the account, with that instance
          as object.
        X-33 must a long-lived operation belongs to the device that started it
        = A long-lived operation belongs to the device that started it; other devices neither list nor resume it. All
          containers of an account without a device count as one device.
        X-34 must an error made by a client has the generic description and equals the NSError of the same code
        = A `CKError` made by a client has the system's generic description and equals an `NSError` of the same
          domain, code and user info; texts of the server travel in the user info.
        """
}
