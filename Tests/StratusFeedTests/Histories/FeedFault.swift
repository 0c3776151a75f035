// Wrong feeds, made of right ones: each fault distorts the feeds' answers before a reader applies them. The checks of
// histories must find every one of them.

import StratusKit
import StratusSharingSupport

/// A possible fault of a feed.
enum FeedFault: String, CaseIterable, Sendable {
    case deletionIsLost, recordIsLost, recordIsInvented, contentIsOld, endComesEarly, endNeverComes, pageIsLost
    /// Only the top of a subtree that moved away is deleted.
    case subtreeIsSkipped
    /// Names are reported that the reader never saw, of existing records.
    case hiddenNameIsDeleted
    case hiddenRecordIsShown, shownRecordIsDeleted, toldRecordIsDeleted, deletionHasOtherType
    /// A new reader gets what existed earlier (T-08).
    case beginningTellsDeletions
    /// Participants see what the owner sees.
    case ownersViewIsShown
    case limitIsIgnored
    /// A reader who knows everything gets something again.
    case oldNewsIsTold
    /// A token of a deleted zone counts as the beginning (T-09).
    case newZoneTakesOldToken
    /// A reader who has lost a zone gets no changes.
    case lostZoneIsSilent
    case zoneIsNotTold, zoneDeletionIsNotTold, changedZoneIsNotTold, hiddenZoneIsTold
}

extension FeedSource {
    /// The answer, or with a fault a wrong one.
    func distorted(_ answer: FeedAnswer, _ reader: FeedReader) -> FeedAnswer {
        guard let fault else { return answer }
        switch answer {
        case .refused(.refused(.changeTokenExpired)) where fault == .newZoneTakesOldToken:
            return .pages([FeedPage(token: reader.token)])
        case .refused(.refused(.zoneNotFound)) where fault == .lostZoneIsSilent:
            return .pages([FeedPage(token: reader.token)])
        case .refused: return answer
        case .pages(let pages): return .pages(pages.map { page(distorting: $0, fault, reader) })
        }
    }

    private func page(distorting page: FeedPage, _ fault: FeedFault, _ reader: FeedReader) -> FeedPage {
        guard case .zone(let zone) = reader.place else { return zones(distorting: page, fault, reader) }
        var page = page
        let since = reader.since ?? oracle.moment
        switch fault {
        case .deletionIsLost: page.deleted.keys.min().map { page.deleted[$0] = nil }
        case .recordIsLost: page.changed.keys.max().map { page.changed[$0] = nil }
        case .recordIsInvented: page.changed["ghost"] = ToldRecord(text: "value 0 under -", tag: "1")
        case .contentIsOld:
            for (name, told) in reader.replica where page.changed[name] != nil { page.changed[name] = told }
        case .endComesEarly: page.isMoreComing = false
        case .endNeverComes: page.isMoreComing = true
        case .pageIsLost where page.isMoreComing:
            page.changed = [:]
            page.deleted = [:]
        case .subtreeIsSkipped:
            page.deleted = page.deleted.filter { reader.replica[$0.key]?.text.hasSuffix("under -") ?? true }
        case .hiddenNameIsDeleted:
            let birth = oracle.birth(of: zone)
            let name = oracle.unseenNames(reader.user, zone, since: since).first {
                !oracle.saw(reader.user, $0, in: zone, birth: birth, since: since)
            }
            if let name { page.deleted[name] = Person.recordType }
        case .hiddenRecordIsShown:
            let owner = SharingHistory.owners[zone]
            let hidden = oracle.unseenNames(reader.user, zone, since: oracle.moment).first
            if let hidden, let text = oracle.view(owner, zone, at: oracle.moment)?[hidden] {
                page.changed[hidden] = ToldRecord(text: text, tag: "1")
            }
        case .shownRecordIsDeleted:
            if let name = reader.replica.keys.min(), page.changed[name] == nil {
                page.deleted[name] = name.hasPrefix("s") ? CKRecord.SystemType.share : Person.recordType
            }
        case .oldNewsIsTold where page.entryCount == 0:
            if let (name, told) = reader.replica.min(by: { $0.key < $1.key }) {
                page.changed[name] = told
                page.entryCount = 1
            }
        case .toldRecordIsDeleted:
            page.changed.keys.min().map { page.deleted[$0] = Person.recordType }
        case .deletionHasOtherType: page.deleted = page.deleted.mapValues { _ in "Other" }
        case .beginningTellsDeletions where reader.token == nil:
            let once = SharingHistory.recordNames.first {
                page.changed[$0] == nil
                    && oracle.saw(reader.user, $0, in: zone, birth: oracle.birth(of: zone), since: 0)
            }
            if let once { page.deleted[once] = Person.recordType }
        case .ownersViewIsShown:
            let view = oracle.view(SharingHistory.owners[zone], zone, at: oracle.moment) ?? [:]
            for name in page.changed.keys { page.changed[name]?.text = view[name] ?? "" }
        default: break
        }
        return page
    }

    private func zones(distorting page: FeedPage, _ fault: FeedFault, _ reader: FeedReader) -> FeedPage {
        var page = page
        switch fault {
        case .zoneIsNotTold: page.changed = page.changed.filter { reader.replica[$0.key] != nil }
        case .changedZoneIsNotTold: page.changed = page.changed.filter { reader.replica[$0.key] == nil }
        case .zoneDeletionIsNotTold: page.deleted = [:]
        case .hiddenZoneIsTold where reader.place == .sharedZones:
            let shown = Set(oracle.zones(of: reader.user, isShared: true))
            let hidden = SharingHistory.zoneNames.indices.first {
                oracle.birth(of: $0) != nil && !oracle.sharing.owns(reader.user, $0) && !shown.contains($0)
            }
            if let hidden { page.changed[SharingHistory.zoneNames[hidden]] = ToldRecord(text: "", tag: nil) }
        default: break
        }
        return page
    }
}
