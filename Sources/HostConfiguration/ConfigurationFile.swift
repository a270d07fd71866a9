import DataDirectory

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The bytes of a configuration file, and what is asked of other files it names.
package enum ConfigurationFile {
    /// Larger than any real one; keeps a wrong path to some huge file from being read whole.
    static let maxBytes = 1024 * 1024

    package static func read(_ path: String) throws(ConfigurationError) -> [UInt8] {
        func failure(_ message: String) -> ConfigurationError {
            ConfigurationError(file: path, problems: [.init(place: nil, key: "", message: message)])
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw failure(
                errno == ENOENT
                    ? "there is no such file; write one, or name another with --config"
                    : "can't be read: \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while bytes.count <= maxBytes {
            let count = readChunk(descriptor, &chunk)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("can't be read: \(String(cString: strerror(errno)))") }
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
        }
        throw failure("larger than 1 MiB, the limit; it is hardly a configuration")
    }

    private static func readChunk(_ descriptor: Int32, _ chunk: inout [UInt8]) -> Int {
        chunk.withUnsafeMutableBytes { buffer in
            #if canImport(Glibc)
                Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            #elseif canImport(Musl)
                Musl.read(descriptor, buffer.baseAddress, buffer.count)
            #else
                Darwin.read(descriptor, buffer.baseAddress, buffer.count)
            #endif
        }
    }

    static func isReadable(_ path: String) -> Bool { access(path, R_OK) == 0 && !isDirectory(path) }

    static func isExecutable(_ path: String) -> Bool { access(path, X_OK) == 0 && !isDirectory(path) }

    private static func isDirectory(_ path: String) -> Bool { FileStatus(path)?.isDirectory ?? false }

    /// Whether this is an IPv4 or IPv6 address, or this machine's own name for itself.
    static func isAddress(_ host: String) -> Bool {
        var address = in6_addr()
        return host == "localhost" || inet_pton(AF_INET, host, &address) == 1
            || inet_pton(AF_INET6, host, &address) == 1
    }

    /// The directory a file stands in, absolute.
    package static func directory(of file: String) -> String {
        let slash = file.lastIndex(of: "/")
        let directory = slash.map { $0 == file.startIndex ? "/" : String(file[..<$0]) } ?? "."
        return resolve(directory, in: workingDirectory())
    }

    /// An absolute path for one that may be relative to `directory`; `.` and `..` are taken out by name.
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
