// How the account of a container stands.

/// Whether the container has an account that can be used.
public enum CKAccountStatus: Int, Sendable {
    /// The store could not be asked.
    case couldNotDetermine = 0
    /// There is one, and it may be used.
    case available = 1
    /// Managed or parental restrictions.
    case restricted = 2
    /// Nobody is signed in, or the host has closed the account.
    case noAccount = 3
    /// The account has to be verified again.
    case temporarilyUnavailable = 4
}
