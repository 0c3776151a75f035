var options = Stratus.Options()
options.onEvent = { event in
    if event.failedItemCount > 0 || event.errorCode != nil { count(event.operation.rawValue) }
}
