// stratus accounts: the people of a store are listed, made, changed, suspended and deleted.

import ArgumentParser
import Foundation
import StratusCloud
import StratusKit
import StratusModel
import Synchronization

struct Accounts: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists and changes the people of a store.",
        discussion: "Example: stratus accounts --store ./store",
        subcommands: [
            ListAccounts.self, CreateAccount.self, SetHandles.self, SuspendAccount.self, ResumeAccount.self,
            DeleteAccount.self,
        ],
        defaultSubcommand: ListAccounts.self)

    struct ListAccounts: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Lists the accounts, in the order of the store's identifiers.",
            discussion: """
                --json: one line an account: \(AccountSummary.keys)

                Example: stratus accounts list --store ./store
                """)

        @OptionGroup var store: WholeStoreArguments

        func run() throws {
            try StoreSession.with(store, .readingAsClient) { session, console in
                let service = try session.service
                var last: AccountID?
                repeat {
                    let page = try service.accounts(after: last)
                    for account in page.accounts { try AccountSummary(account, service).show(console) }
                    last = page.next
                } while last != nil
            }
        }
    }

    struct CreateAccount: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create",
            abstract: "Makes an account.",
            discussion: """
                --json: \(AccountSummary.keys)

                Example: stratus accounts create user-17 --email alice@example.com --name "Alice Ash" --store ./store
                """)

        @Argument(help: ArgumentHelp("The host's own identifier of the person.", valueName: "identifier"))
        var externalID: String

        @Option(help: "A verified e-mail address; may be given again.")
        var email: [String] = []

        @Option(help: "A verified telephone number; may be given again.")
        var phone: [String] = []

        @Option(help: "The person's given name, and behind the last space their family name.")
        var name: String?

        @Option(
            parsing: .unconditional,
            help: ArgumentHelp("What the person's private databases may hold.", valueName: "bytes"))
        var quota: Int64?

        @OptionGroup var store: WholeStoreArguments

        func run() throws {
            try StoreSession.with(store, .existingAsClient) { session, console in
                let host = try session.host
                var name = PersonNameComponents()
                let words = self.name?.split(separator: " ").map(String.init) ?? []
                if words.count > 1 { name.familyName = words.last }
                if !words.isEmpty {
                    name.givenName = (words.count > 1 ? words.dropLast() : words[...]).joined(separator: " ")
                }
                let account = try host.createAccount(
                    .init(emails: Set(email), phoneNumbers: Set(phone), name: name, quotaByteCount: quota),
                    externalID: externalID)
                try Accounts.show(account, session, console)
            }
        }
    }

    struct SetHandles: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "handles",
            abstract: "Replaces the verified addresses of a person.",
            discussion: """
                All addresses are replaced by those that are given; by none with --none. With --add they stay, and those \
                that are given are added. Verify whose they are first: invitations follow them.

                --json: \(AccountSummary.keys)

                Example: stratus accounts handles user-17 --add --email alice@example.org --store ./store
                """)

        @Argument(help: PersonArgument.help)
        var person: PersonArgument

        @Option(help: "A verified e-mail address; may be given again.")
        var email: [String] = []

        @Option(help: "A verified telephone number; may be given again.")
        var phone: [String] = []

        @Flag(help: "Keep the addresses that the person has.")
        var add = false

        @Flag(help: "Leave the person without addresses.")
        var none = false

        @OptionGroup var store: WholeStoreArguments

        func validate() throws {
            guard (email.isEmpty && phone.isEmpty) == none else {
                throw ValidationError("Say which addresses with --email and --phone, or --none.")
            }
        }

        func run() throws {
            try StoreSession.with(store, .existingAsClient) { session, console in
                let (host, old) = (try session.host, try session.hostAccount(person))
                let account = try host.setHandles(
                    emails: Set(email).union(add ? old.emails : []),
                    phoneNumbers: Set(phone).union(add ? old.phoneNumbers : []), of: old)
                try Accounts.show(account, session, console)
            }
        }
    }

    struct SuspendAccount: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "suspend",
            abstract: "Closes an account for its person; its data and its places in shares stay.",
            discussion: """
                --json: \(AccountSummary.keys)

                Example: stratus accounts suspend user-17 --store ./store
                """)

        @Argument(help: PersonArgument.help)
        var person: PersonArgument

        @Flag(exclusivity: .exclusive, help: "How the account stands from now on.")
        var standing = StandingChoice.suspended

        @OptionGroup var store: WholeStoreArguments

        func run() throws { try Accounts.set(standing.standing, of: person, store) }
    }

    struct ResumeAccount: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "resume",
            abstract: "Opens an account again that was suspended or restricted.",
            discussion: """
                --json: \(AccountSummary.keys)

                Example: stratus accounts resume user-17 --store ./store
                """)

        @Argument(help: PersonArgument.help)
        var person: PersonArgument

        @OptionGroup var store: WholeStoreArguments

        func run() throws { try Accounts.set(.good, of: person, store) }
    }

    struct DeleteAccount: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "delete",
            abstract: "Deletes an account with everything it owns in every container.",
            discussion: """
                The account is gone at once; then the entries of its zones are removed. If that is interrupted, the next \
                verb that opens the store, or the next host, finishes it.

                --json: {"account","externalID","user","freedBytes"}; with --dry-run {"dryRun","would",…}

                Example: stratus accounts delete user-17 --dry-run --store ./store
                """)

        @Argument(help: PersonArgument.help)
        var person: PersonArgument

        @OptionGroup var deed: DeedArguments
        @OptionGroup var store: WholeStoreArguments

        func run() throws {
            try StoreSession.with(store, .existingAsClient) { session, console in
                let (host, account) = (try session.host, try session.hostAccount(person))
                let summary = try AccountSummary(session.person(person), session.service)
                let object: JSONObject = [
                    "account": .string(account.id), "externalID": JSONValue(account.externalID),
                    "user": .string(account.userRecordName), "freedBytes": .integer(summary.usedByteCount),
                ]
                let size = Quantities.bytes(summary.usedByteCount)
                guard try deed.mayDo("delete account \(summary.title) with all it owns, \(size)", object, console)
                else { return }
                try Self.delete(account, host, console)
                _ = try Zones.purge(session, console)
                try console.line("deleted account \(VisibleText.of(summary.title)) with \(size)")
                try console.object(object)
            }
        }

        private static func delete(_ account: Stratus.Account, _ host: any StoreHost, _ console: Console) throws {
            let isAtIt = Mutex(true)
            StopSignal.beforeEnd {
                guard isAtIt.withLock({ $0 }) else { return }
                Console.noteOfSignal(
                    "interrupted: if the account is gone, the next verb removes what it has left")
            }
            defer { isAtIt.withLock { $0 = false } }
            let progress = ProgressLine("deleting", total: nil, on: console)
            defer { progress.finish() }
            try host.deleteAccountWithAllData(account) {
                progress.update($0.part.words, $0.doneCount, of: $0.totalCount ?? 0)
            }
        }
    }

    private static func set(
        _ standing: Stratus.Standing, of person: PersonArgument, _ store: WholeStoreArguments
    ) throws {
        try StoreSession.with(store, .existingAsClient) { session, console in
            let host = try session.host
            try show(host.setStanding(standing, of: session.hostAccount(person)), session, console)
        }
    }

    private static func show(_ account: Stratus.Account, _ session: StoreSession, _ console: Console) throws {
        let stored = try session.person(PersonArgument("account:\(account.id)"))
        try AccountSummary(stored, session.service).show(console)
    }
}

/// How an account can be closed.
enum StandingChoice: String, EnumerableFlag {
    case suspended
    case restricted
    case needsVerification

    var standing: Stratus.Standing {
        switch self {
        case .suspended: .suspended
        case .restricted: .restricted
        case .needsVerification: .needsVerification
        }
    }
}
