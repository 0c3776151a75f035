await withCheckedContinuation { continuation in
    Thread.detachNewThread {
        cloud.close()  // blocks until the last block of every operation was called
        continuation.resume()
    }
}
