// stratus accounts: lists, creates, changes, suspends and deletes the accounts of a store.

import ArgumentParser
import Foundation
import StratusCloud
import StratusKit
import StratusModel

struct Accounts: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists and changes the accounts of a store.",
        discussion: "Example: stratus accounts --store ./store",
        subcommands: [
            ListAccounts.self, CreateAccount.self, SetHandles.self, SuspendAccount.self, ResumeAccount.self,
            DeleteAccount.self,
        ],
        defaultSubcommand: ListAccounts.self)

    struct ListAccounts: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Lists the accounts, sorted by the store's identifiers.",
            discussion: """
                --json: one line per account: \(AccountSummary.keys)

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
            abstract: "Creates an account.",
            discussion: """
                --json: \(AccountSummary.keys)

                Example: stratus accounts create user-17 --email alice@example.com --name "Alice Ash" --store ./store
                """)

        @Argument(help: ArgumentHelp("The host's own identifier of the person.", valueName: "identifier"))
        var externalID: String

        @OptionGroup var handles: HandleArguments

        @Option(help: "The person's name; the word after the last space is the family name.")
        var name: String?

        @Option(
            parsing: .unconditional,
            help: ArgumentHelp("The most bytes that the person's private databases may hold.", valueName: "bytes"))
        var quota: Int64?

        @OptionGroup var store: WholeStoreArguments

        func validate() throws {
            guard let quota, quota < 0 else { return }
            throw ValidationError("A quota cannot be negative: leave out --quota for the store's default.")
        }

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
                    .init(
                        emails: Set(handles.email), phoneNumbers: Set(handles.phone), name: name, quotaByteCount: quota),
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
                The new addresses replace all old ones; --none removes all, --add keeps the old ones. Verify first \
                that the addresses are the person's: invitations to them reach this account.

                --json: \(AccountSummary.keys)

                Example: stratus accounts handles user-17 --add --email alice@example.org --store ./store
                """)

        @Argument(help: PersonArgument.help)
        var person: PersonArgument

        @OptionGroup var handles: HandleArguments

        @Flag(help: "Keep the addresses that the person has.")
        var add = false

        @Flag(help: "Remove all addresses.")
        var none = false

        @OptionGroup var store: WholeStoreArguments

        func validate() throws {
            guard (handles.email.isEmpty && handles.phone.isEmpty) == none else {
                throw ValidationError("Give addresses with --email and --phone, or --none.")
            }
        }

        func run() throws {
            try StoreSession.with(store, .existingAsClient) { session, console in
                let (host, old) = (try session.host, try session.hostAccount(person))
                let account = try host.setHandles(
                    emails: Set(handles.email).union(add ? old.emails : []),
                    phoneNumbers: Set(handles.phone).union(add ? old.phoneNumbers : []), of: old)
                try Accounts.show(account, session, console)
            }
        }
    }

    struct SuspendAccount: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "suspend",
            abstract: "Suspends an account. Its data and its participation in shares stay.",
            discussion: """
                --json: \(AccountSummary.keys)

                Example: stratus accounts suspend user-17 --store ./store
                """)

        @Argument(help: PersonArgument.help)
        var person: PersonArgument

        @Flag(exclusivity: .exclusive, help: "The account's new standing.")
        var standing = StandingChoice.suspended

        @OptionGroup var store: WholeStoreArguments

        func run() throws { try Accounts.set(standing.standing, of: person, store) }
    }

    struct ResumeAccount: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "resume",
            abstract: "Resumes a suspended or restricted account.",
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
                Deletes the account at once, then removes the entries of its zones. If that is interrupted, the next \
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
                    "account": account.id, "externalID": account.externalID, "user": account.userRecordName,
                    "freedBytes": summary.usedByteCount,
                ]
                let size = Quantities.bytes(summary.usedByteCount)
                guard try deed.mayDo("delete account \(summary.title) with all it owns, \(size)", object, console)
                else { return }
                let progress = ProgressLine("deleting", on: console)
                try StopSignal.noting("interrupted: if the account is gone, the next verb removes its remaining data") {
                    try host.deleteAccountWithAllData(account) {
                        progress.update($0.part.words, $0.doneCount, of: $0.totalCount ?? 0)
                    }
                }
                _ = try Zones.purge(session, console)
                try console.line("deleted account \(VisibleText.of(summary.title)) with \(size)")
                try console.object(object)
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

/// The verified addresses of a person.
struct HandleArguments: ParsableArguments {
    @Option(help: "A verified e-mail address; may be repeated.")
    var email: [String] = []

    @Option(help: "A verified telephone number; may be repeated.")
    var phone: [String] = []
}

/// The standings that close an account.
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
