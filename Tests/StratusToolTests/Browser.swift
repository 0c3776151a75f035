// A headless Chromium that is controlled through a pipe: the DevTools protocol, one JSON object after another, each
// ended by a zero byte. Nothing but the browser and a shell is needed, and no port is opened.
//
// Everything here blocks. It runs on a thread of its own.

import Foundation
import StratusTestSupport

/// The browser did not do what was requested.
struct BrowserError: Error, CustomStringConvertible {
    let description: String
}

final class Browser {
    typealias Message = [String: Any]

    /// A browser that takes longer hangs; it is killed, and the next answer is an error.
    private static let limitSeconds = 300.0

    private let process: ChildProcess
    private let input: FileHandle
    private let output: FileHandle
    private var buffer = Data()
    private var lastNumber = 0
    private var session: String?
    /// The page's unsolicited messages since the last page was opened.
    private(set) var events: [Message] = []

    /// Starts a browser with a profile of its own in `directory`.
    init(in directory: String) throws {
        let pipes = ["commands", "answers"].map { "\(directory)/\($0)" }
        let isRoot = geteuid() == 0
        let flags = [
            "--headless=new", "--remote-debugging-pipe", "--user-data-dir=\(directory)/profile", "--disable-gpu",
            "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-sync",
            "--disable-component-update", "--disable-extensions", "--disable-crash-reporter", "--hide-scrollbars",
            isRoot ? "--no-sandbox" : "--no-default-browser-check",
        ]
        // Opened for both directions, neither end waits for the other.
        let script = """
            name=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || exit 1
            mkfifo "$0" "$1" || exit 1
            exec "$name" "${@:3}" about:blank 3<> "$0" 4<> "$1" > "$2" 2>&1
            """
        process = try ChildProcess("/bin/bash", ["-c", script] + pipes + ["\(directory)/browser.log"] + flags)
        let deadline = Date(timeIntervalSinceNow: 20)
        while !pipes.allSatisfy({ FileManager.default.fileExists(atPath: $0) }) {
            guard Date() < deadline, process.isRunning else {
                throw BrowserError(description: "There is no Chromium: run 'make pages', which installs one.")
            }
            usleep(10_000)
        }
        // This side holds both ends too: no one waits for a browser that has gone, or is killed by its pipe.
        guard let input = FileHandle(forUpdatingAtPath: pipes[0]),
            let keeper = FileHandle(forUpdatingAtPath: pipes[1]), let output = FileHandle(forReadingAtPath: pipes[1])
        else { throw BrowserError(description: "The pipes of the browser cannot be opened.") }
        (self.input, self.output) = (input, output)
        Thread.detachNewThread { [process] in
            process.wait()
            try? keeper.close()
        }
        guard process.isRunning else { throw BrowserError(description: "The browser has ended at once.") }
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.limitSeconds) { [weak process] in process?.kill() }
        let target = try send("Target.createTarget", ["url": "about:blank"])
        let attached = try send(
            "Target.attachToTarget", ["targetId": target["targetId"] ?? "", "flatten": true])
        session = attached["sessionId"] as? String
        for domain in ["Page", "Runtime", "Log", "Network"] { try send("\(domain).enable") }
    }

    func close() {
        _ = try? send("Browser.close")
        process.wait()
    }

    /// Sends a command and waits for its answer.
    @discardableResult
    func send(_ method: String, _ parameters: Message = [:]) throws -> Message {
        lastNumber += 1
        var message: Message = ["id": lastNumber, "method": method, "params": parameters]
        if let session { message["sessionId"] = session }
        try input.write(contentsOf: try JSONSerialization.data(withJSONObject: message) + [0])
        while true {
            let answer = try read()
            guard let number = answer["id"] as? Int else {
                events.append(answer)
                continue
            }
            guard number == lastNumber else { continue }
            if let error = answer["error"] as? Message {
                throw BrowserError(description: "\(method): \(error["message"] ?? error)")
            }
            return answer["result"] as? Message ?? [:]
        }
    }

    private func read() throws -> Message {
        while true {
            if let end = buffer.firstIndex(of: 0) {
                let message = buffer[buffer.startIndex..<end]
                let parsed = try JSONSerialization.jsonObject(with: Data(message))
                buffer = Data(buffer[buffer.index(after: end)...])
                return parsed as? Message ?? [:]
            }
            let more = output.availableData
            guard !more.isEmpty else { throw BrowserError(description: "The browser has ended.") }
            buffer.append(more)
        }
    }

    // MARK: Pages

    /// Opens a file in light or dark mode, in a window of a number of pixels.
    func open(_ path: String, isDark: Bool, width: Int) throws {
        let scheme = ["name": "prefers-color-scheme", "value": isDark ? "dark" : "light"]
        try send("Emulation.setEmulatedMedia", ["features": [scheme]])
        try send(
            "Emulation.setDeviceMetricsOverride",
            ["width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false])
        events = []
        try send("Page.navigate", ["url": URL(fileURLWithPath: path).absoluteString])
        while !events.contains(where: { $0["method"] as? String == "Page.loadEventFired" }) {
            try events.append(read())
        }
    }

    /// The result of a JavaScript expression.
    func value(of expression: String) throws -> Any {
        let answer = try send("Runtime.evaluate", ["expression": expression, "returnByValue": true])
        if let details = answer["exceptionDetails"] { throw BrowserError(description: "\(details)") }
        return (answer["result"] as? Message)?["value"] ?? NSNull()
    }

    /// Presses and releases a key.
    func press(_ key: String, code: Int, text: String? = nil) throws {
        var parameters: Message = ["key": key, "code": key, "windowsVirtualKeyCode": code]
        parameters["text"] = text
        parameters["type"] = text == nil ? "rawKeyDown" : "keyDown"
        try send("Input.dispatchKeyEvent", parameters)
        parameters["type"] = "keyUp"
        parameters["text"] = nil
        try send("Input.dispatchKeyEvent", parameters)
    }

    /// A picture of the page as far as `height` pixels down.
    func screenshot(height: Int, width: Int) throws -> Data {
        let clip: Message = ["x": 0, "y": 0, "width": width, "height": height, "scale": 1]
        let answer = try send(
            "Page.captureScreenshot", ["format": "png", "captureBeyondViewport": true, "clip": clip])
        guard let data = (answer["data"] as? String).flatMap({ Data(base64Encoded: $0) }) else {
            throw BrowserError(description: "no picture")
        }
        return data
    }

    /// The page's errors, and its network requests.
    var complaints: [String] {
        events.compactMap { event in
            let parameters = event["params"] as? Message ?? [:]
            switch event["method"] as? String {
            case "Runtime.consoleAPICalled": return "console: \(parameters["args"] ?? "")"
            case "Runtime.exceptionThrown": return "exception: \(parameters["exceptionDetails"] ?? "")"
            case "Log.entryAdded":
                return "log: \((parameters["entry"] as? Message)?["text"] ?? parameters)"
            case "Network.requestWillBeSent":
                let url = (parameters["request"] as? Message)?["url"] as? String ?? ""
                return parameters["type"] as? String == "Document" && url.hasPrefix("file://") ? nil : "request: \(url)"
            default: return nil
            }
        }
    }
}
