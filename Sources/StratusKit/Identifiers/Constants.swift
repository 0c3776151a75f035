// The constants that CloudKit's API declares outside any type.

/// The owner name that stands for the user who is signed in.
public let CKCurrentUserDefaultName: String = "__defaultOwner__"
