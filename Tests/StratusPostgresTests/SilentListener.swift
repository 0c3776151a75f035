// A socket on loopback that accepts connections and never answers.

import Glibc
import StratusStore

final class SilentListener {
    let port: UInt16
    private let socket: Int32

    init() throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let socket = socket
        let isListening = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { general in
                unsafe bind(socket, general, size) == 0 && listen(socket, 8) == 0
                    && getsockname(socket, general, &size) == 0
            }
        }
        guard isListening else { throw StoreError(.inputOutput, "No socket on loopback.") }
        port = UInt16(bigEndian: address.sin_port)
    }

    /// Takes the connections that wait, and returns how many they were.
    func takeWaiting() -> Int {
        _ = fcntl(socket, F_SETFL, O_NONBLOCK)
        var count = 0
        while true {
            let connection = accept(socket, nil, nil)
            guard connection >= 0 else { return count }
            close(connection)
            count += 1
        }
    }

    deinit { close(socket) }
}
