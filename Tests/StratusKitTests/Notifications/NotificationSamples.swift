// Notifications that the tests share, random ones, and deprecated names reachable without a warning.

import Foundation
import StratusCloud
import StratusModel
import StratusTestSupport

@testable import StratusKit

enum NotificationSamples {
    static let id = UUID(uuidString: "943172CD-822F-4890-8A2B-B24BB2A15527")
    static let zone = ZoneAddress(zoneName: "Notes")
    static let record = RecordAddress(recordName: "note-1", zone: zone)

    static func notification(
        _ subject: NotificationSubject? = .database, database: DatabaseSelector = .private,
        subscriptionID: String? = "changes", alert: NotificationAlert = NotificationAlert(), badge: Int? = nil,
        isPruned: Bool = false
    ) -> ClientNotification {
        ClientNotification(
            id: id, container: ContainerName("iCloud.com.example.app"), subscriptionID: subscriptionID,
            subscriptionOwner: UserName("_alice"), database: database, subject: subject, alert: alert,
            badge: badge, isPruned: isPruned)
    }

    static var fields: [String: ClientValue] {
        [
            "title": .string("Größe 😀"), "count": .int64(.min), "price": .double(0.1), "whole": .double(3),
            "large": .double(1e300), "endless": .double(-.infinity), "zero": .double(-0.0),
            "due": .date(Date(timeIntervalSinceReferenceDate: 712_345_678.123_456)),
            "place": .location(CLLocation(latitude: 52.5, longitude: -13.4).location),
            "folder": .reference(
                ClientReference(target: RecordAddress(recordName: "f", zone: zone), action: .deleteSelf)),
            "names": .list([.string("a"), .double(2), .date(Date(timeIntervalSinceReferenceDate: 0))]),
            "bytes": .bytes(ClientBytes([0, 255])), "file": .asset(.missing),
        ]
    }

    /// One of each kind, whole and pruned.
    static var all: [ClientNotification] {
        var alert = NotificationAlert()
        alert.body = .init(text: "new", localizationKey: "NEW", arguments: ["a", ""])
        alert.title = .init(text: "T", localizationKey: "TT", arguments: [])
        alert.subtitle = .init(text: "S", localizationKey: "SS", arguments: ["b"])
        alert.actionLocalizationKey = "ACT"
        alert.launchImage = "launch.png"
        alert.soundName = "default"
        alert.isContentAvailable = true
        alert.isMutable = true
        alert.category = "C"
        var text = NotificationAlert()
        text.body.text = "only"
        var bare = notification(nil, isPruned: true)
        (bare.id, bare.container, bare.subscriptionOwner, bare.subscriptionID) = (nil, nil, nil, nil)
        return [
            notification(.query(reason: .recordUpdated, record: record, fields: fields), alert: alert, badge: 180),
            notification(.query(reason: .recordDeleted, record: record, fields: [:]), database: .public, alert: text),
            notification(.zone(ZoneAddress(zoneName: "Trips", ownerName: "_olga")), database: .shared),
            notification(.database), notification(.database, subscriptionID: nil, isPruned: true),
            notification(nil, database: .public, isPruned: true), bare, notification(.prunedQuery, isPruned: true),
            notification(.prunedZone, isPruned: true),
        ]
    }
}

/// Random notifications, as a server may create them.
struct NotificationGenerator {
    var random: SplitMix64

    private mutating func text() -> String {
        random.element(of: ["", "a", "ä", "Ελ", "a\"b\\c", "line\nline", "😀", "cloudkit", "0", "null", "x y"])
    }

    private mutating func maybe<Value>(_ make: (inout Self) -> Value) -> Value? {
        random.isOne(in: 2) ? nil : make(&self)
    }

    private mutating func phrase() -> NotificationPhrase {
        .init(
            text: maybe { $0.text() }, localizationKey: maybe { $0.text() },
            arguments: maybe { generator in
                (0..<generator.random.below(3)).map { _ in generator.text() }
            })
    }

    private mutating func zone() -> ZoneAddress {
        ZoneAddress(
            zoneName: "z" + text(), ownerName: random.isOne(in: 2) ? ZoneAddress.currentUser : "_b" + text())
    }

    private mutating func number() -> Double {
        switch random.below(4) {
        case 0: random.element(of: [0, -0.0, 1, -1, 0.1, 1e15, 1e300, .infinity, -.infinity, .leastNonzeroMagnitude])
        case 1: Double(random.below(1_000_000)) / 1_000
        case 2: Double(Int64(bitPattern: random.next()))
        default:
            {
                let number = Double(bitPattern: random.next())
                return number.isNaN ? 0.5 : number
            }()
        }
    }

    private mutating func value(isInList: Bool = false) -> ClientValue {
        switch random.below(isInList ? 8 : 9) {
        case 0: .string(text())
        case 1: .int64(random.element(of: [0, 1, -1, .min, .max, Int64(bitPattern: random.next())]))
        case 2: .double(number())
        case 3: .date(Date(timeIntervalSinceReferenceDate: number()))
        case 4: .bytes(ClientBytes(random.bytes(count: random.below(5))))
        case 5: .location(CLLocation(latitude: Double(random.below(90)), longitude: 0.1).location)
        case 6:
            .reference(
                ClientReference(
                    target: RecordAddress(recordName: text(), zone: zone()),
                    action: random.isOne(in: 2) ? .none : .deleteSelf))
        case 7: .asset(.missing)
        default: .list((0..<random.below(4)).map { _ in value(isInList: true) })
        }
    }

    private mutating func subject() -> NotificationSubject? {
        switch random.below(7) {
        case 0: return nil
        case 1: return .database
        case 2: return .zone(zone())
        case 3: return .prunedQuery
        case 4: return .prunedZone
        default:
            var fields: [String: ClientValue] = [:]
            for _ in 0..<random.below(4) { fields["f" + text()] = value() }
            return .query(
                reason: random.element(of: QueryNotificationReason.allCases),
                record: RecordAddress(recordName: "r" + text(), zone: zone()), fields: fields)
        }
    }

    mutating func notification() -> ClientNotification {
        var alert = NotificationAlert()
        alert.body = phrase()
        alert.title = phrase()
        alert.subtitle = phrase()
        alert.actionLocalizationKey = maybe { $0.text() }
        alert.launchImage = maybe { $0.text() }
        alert.soundName = maybe { $0.text() }
        alert.isContentAvailable = random.isOne(in: 2)
        alert.isMutable = random.isOne(in: 2)
        alert.category = maybe { $0.text() }
        return ClientNotification(
            id: maybe { $0.random.uuid() }, container: ContainerName("iCloud." + text()),
            subscriptionID: maybe { $0.text() }, subscriptionOwner: maybe { UserName("_a" + $0.text()) },
            database: random.element(of: DatabaseSelector.allCases), subject: subject(), alert: alert,
            badge: maybe { $0.random.below(1_000) - 1 }, isPruned: random.isOne(in: 2))
    }
}

/// The deprecated properties, reachable without a warning.
protocol LegacyNotification {
    var alertBody: String? { get }
    var alertLocalizationKey: String? { get }
    var alertLocalizationArgs: [String]? { get }
    var title: String? { get }
    var titleLocalizationKey: String? { get }
    var titleLocalizationArgs: [String]? { get }
    var subtitle: String? { get }
    var subtitleLocalizationKey: String? { get }
    var subtitleLocalizationArgs: [String]? { get }
    var alertActionLocalizationKey: String? { get }
    var alertLaunchImage: String? { get }
    var badge: NSNumber? { get }
    var soundName: String? { get }
    var category: String? { get }
}

/// The deprecated property, reachable without a warning.
protocol LegacyQueryNotification {
    var isPublicDatabase: Bool { get }
}

extension CKNotification: LegacyNotification {}
extension CKQueryNotification: LegacyQueryNotification {}
