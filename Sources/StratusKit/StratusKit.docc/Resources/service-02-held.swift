import StratusKit

do {
    return try await Stratus.open(at: directory)
} catch let error as StratusError where error.code == .held {
    let holder = error.fields["holderCommand"] ?? "another process"
    print("The store is in use by \(holder): stop it first.")
    return nil
}
