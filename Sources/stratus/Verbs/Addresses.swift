// stratus help addresses: how people, databases, zones and records are named.

import ArgumentParser

struct Addresses: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Says how people, databases, zones and records are named.",
        discussion: """
            Databases: the private database of a person, --owner, in a container, --container; with --public the \
            container's public one. An owner who is named by their user name needs no account any more. --zone names a \
            zone of it. A program of your own finds them by the same names.

            Records: a path of names, as in /share/doc/README, is where a record lies now; a record name, as in \
            share/doc/README, it keeps wherever it is moved. name:TEXT is always a record name.

            Whole addresses: what the options say is said by one word too, wherever a record is named, and by --in for \
            databases and zones:
              db://CONTAINER/PERSON            the private database of a person
              db://CONTAINER/public            the public database
              db://CONTAINER/PERSON/ZONE       a zone
              db://CONTAINER/PERSON/ZONE/a/b   a record by its path
              db://CONTAINER/PERSON/ZONE?NAME  a record by its record name
            In all parts but a record name '%', '/' and '?' are written as %25, %2F and %3F.

            People: the host's identifier, an e-mail address, a telephone number that begins with '+', or a user name that \
            begins with '_'. id:TEXT, email:TEXT, phone:TEXT, user:NAME and account:TEXT are each just that. --as PERSON \
            reads or writes with the rights of that person, in the shared database where another's zone is named.

            --json: the page has none.

            Example: stratus ls db://iCloud.default/alice@example.com/files/share --as bob@example.com --store ./store
            """)

    func run() throws { throw CleanExit.helpRequest(self) }
}
