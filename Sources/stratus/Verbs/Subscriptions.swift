// stratus subscriptions: shows subscriptions, devices, and notifications that are not yet delivered.

import ArgumentParser
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords

struct Subscriptions: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows subscriptions, devices and undelivered notifications.",
        discussion: "Example: stratus subscriptions --store ./store",
        subcommands: [ListSubscriptions.self, ListDevices.self, ListOutbox.self],
        defaultSubcommand: ListSubscriptions.self)

    struct ListSubscriptions: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Lists the subscriptions of all people, or of one.",
            discussion: """
                --json: one line per subscription: {"container","user","externalID","database","subscription","kind","zone",\
                "recordType","triggers","silent"}; kind is query, zone or database.

                Example: stratus subscriptions list --as user-17 --store ./store
                """)

        @OptionGroup var store: WholeStoreArguments
        @OptionGroup var acting: ActingArguments

        func run() throws {
            try StoreSession.with(store, .reading) { session, console in
                let user = try acting.person.map { try session.person($0).userName }
                try session.engine.read { reader in
                    let people = People(reader: reader)
                    try reader.store.forEach(in: GlobalKeys.keyspace(.subscriptions)) { key, value in
                        let parts = try GlobalKeys.readSubscriptionKey(key)
                        guard user == nil || user == parts.user else { return }
                        try show(parts, SubscriptionEntry(decoding: value), people, console)
                    }
                }
            }
        }

        private func show(
            _ parts: SubscriptionKeyParts, _ entry: SubscriptionEntry, _ people: People, _ console: Console
        ) throws {
            let database = DatabaseSelector(rawValue: parts.database).map { "\($0)" } ?? "unknown"
            let subject: (kind: String, zone: String?, type: String?, triggers: [String])
            switch entry.subject {
            case .query(let query):
                subject = ("query", query.zone?.text, query.recordType.text, Self.words(of: query.triggers))
            case .zone(let zone, let type): subject = ("zone", zone.text, type?.text, [])
            case .database(let type): subject = ("database", nil, type?.text, [])
            }
            var line = "\(try people.title(of: parts.user))  \(VisibleText.of(parts.id))  \(subject.kind)"
            if let zone = subject.zone { line += " \(VisibleText.of(zone))" }
            if let type = subject.type { line += ", type \(VisibleText.of(type))" }
            if !subject.triggers.isEmpty { line += ", on \(subject.triggers.joined(separator: ", "))" }
            line += ", \(database) database of \(VisibleText.of(parts.container.text))"
            try console.line(line + (entry.template == nil ? ", silent" : ""))
            let externalID = try people.account(parts.user)?.externalID
            try console.object([
                "container": parts.container.text, "user": parts.user.text, "externalID": externalID,
                "database": database, "subscription": parts.id, "kind": subject.kind, "zone": subject.zone,
                "recordType": subject.type, "triggers": subject.triggers, "silent": entry.template == nil,
            ])
        }

        private static func words(of triggers: UInt8) -> [String] {
            let all: [(SubscriptionTriggers, String)] = [
                (.creation, "creation"), (.update, "update"), (.deletion, "deletion"), (.once, "once"),
            ]
            return all.filter { SubscriptionTriggers(rawValue: UInt(triggers)).contains($0.0) }.map(\.1)
        }
    }

    struct ListDevices: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "devices",
            abstract: "Lists devices, with the number of notifications that wait for each.",
            discussion: """
                --json: one line per device: {"account","externalID","device","waiting","badge"}

                Example: stratus subscriptions devices --store ./store
                """)

        @OptionGroup var store: WholeStoreArguments
        @OptionGroup var acting: ActingArguments

        func run() throws {
            try StoreSession.with(store, .reading) { session, console in
                let account = try acting.person.map { try session.person($0).id }
                try session.engine.read { reader in
                    let range = account.map { GlobalKeys.devices(of: $0) } ?? GlobalKeys.keyspace(.devices)
                    try reader.store.forEach(in: range) { key, value in
                        let (id, name) = try GlobalKeys.readDeviceKey(key)
                        let entry = try DeviceEntry(decoding: value)
                        let owner = try AccountDirectory().account(id, in: reader)?.externalID
                        try console.line(
                            "\(VisibleText.of(owner ?? "account:\(id.text)"))  \(VisibleText.of(name))  "
                                + "\(Quantities.count(entry.count)) waiting, badge \(entry.badge)")
                        try console.object([
                            "account": id.text, "externalID": owner, "device": name, "waiting": entry.count,
                            "badge": entry.badge,
                        ])
                    }
                }
            }
        }
    }

    struct ListOutbox: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "outbox",
            abstract: "Lists commits whose notifications are not yet delivered.",
            discussion: """
                A running host delivers notifications at once. If commits stay in this list, no host is running.

                --json: one line per commit: {"container","owner","zone","entry"}

                Example: stratus subscriptions outbox --store ./store
                """)

        @OptionGroup var store: WholeStoreArguments

        func run() throws {
            try StoreSession.with(store, .reading) { session, console in
                try session.engine.read { reader in
                    try reader.store.forEach(in: GlobalKeys.keyspace(.outbox)) { key, value in
                        let entry = try OutboxEntry(decoding: value)
                        let text = KeyDescription.text(of: key)
                        try console.line(
                            "\(VisibleText.of(entry.zone.text)) of \(VisibleText.of(entry.owner?.text ?? "public"))  "
                                + VisibleText.of(text))
                        try console.object([
                            "container": entry.container.text, "owner": entry.owner?.text, "zone": entry.zone.text,
                            "entry": text,
                        ])
                    }
                }
            }
        }
    }
}
