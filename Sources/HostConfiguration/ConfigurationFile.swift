import DataDirectory

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The system's function, which that of ``ConfigurationFile`` with the same name hides.
private func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
    read(descriptor, bytes, count)
}

/// Reads a configuration file and checks the paths and addresses that it names.
package enum ConfigurationFile {
    /// More than any real configuration has. It prevents a wrong path from loading a huge file into memory.
    static let maxBytes = 1024 * 1024

    /// - Parameter hint: what to do if the file doesn't exist.
    package static func read(
        _ path: String, hint: String = "create it, or name another one with --config"
    ) throws(ConfigurationError) -> [UInt8] {
        func failure(_ message: String) -> ConfigurationError {
            ConfigurationError(file: path, problems: [.init(place: nil, key: "", message: message)])
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw failure(
                errno == ENOENT
                    ? "the file does not exist; \(hint)"
                    : "can't be read: \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while bytes.count <= maxBytes {
            let count = systemRead(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("can't be read: \(String(cString: strerror(errno)))") }
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
        }
        throw failure("the file is larger than 1 MiB, the limit for a configuration")
    }

    static func isReadable(_ path: String) -> Bool { access(path, R_OK) == 0 && !isDirectory(path) }

    static func isExecutable(_ path: String) -> Bool { access(path, X_OK) == 0 && !isDirectory(path) }

    static func isDirectory(_ path: String) -> Bool { FileStatus(path)?.isDirectory ?? false }

    /// Whether this is an IPv4 or IPv6 address, or `localhost`.
    static func isAddress(_ host: String) -> Bool {
        var address = in6_addr()
        return host == "localhost" || inet_pton(AF_INET, host, &address) == 1
            || inet_pton(AF_INET6, host, &address) == 1
    }

    /// The absolute path of the directory that contains a file.
    package static func directory(of file: String) -> String {
        let slash = file.lastIndex(of: "/")
        let directory = slash.map { $0 == file.startIndex ? "/" : String(file[..<$0]) } ?? "."
        return resolve(directory, in: workingDirectory())
    }

    /// Makes a path absolute; a relative one starts at `directory`. `.` and `..` are removed lexically, without
    /// resolving links.
    static func resolve(_ path: String, in directory: String) -> String {
        var parts: [Substring] = []
        for part in (path.hasPrefix("/") ? path : directory + "/" + path).split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        return "/" + parts.joined(separator: "/")
    }

    private static func workingDirectory() -> String {
        guard let path = getcwd(nil, 0) else { return "/" }
        defer { free(path) }
        return String(cString: path)
    }
}
