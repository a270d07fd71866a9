import NIOCore
import NIOPosix

/// WebChannel sessions that are open and idle.
enum WebChannelSessions {
    /// - Returns: the connections of the back channels.
    static func open(_ count: Int, at port: Int) async throws -> [any Channel] {
        let database = "projects%2F\(HostProcess.project)%2Fdatabases%2F(default)"
        let path = "/google.firestore.v1.Firestore/Listen/channel?VER=8&database=\(database)"
        let form = "headers=Authorization%3ABearer%20owner%0D%0A&count=0"
        var channels: [any Channel] = []
        for number in 0..<count {
            var request = ByteBuffer()
            request.writeString(
                "POST \(path)&RID=\(number)&CVER=22&t=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                    + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: \(form.utf8.count)\r\n\r\n\(form)"
            )
            let answer = try await Load.ask(request, of: port)
            let parts = String(buffer: answer.body).split(separator: "\"")
            guard answer.status == 200, parts.count > 3 else { throw LoadError("no session: \(answer.excerpt)") }
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(host: "127.0.0.1", port: port).get()
            try await channel.writeAndFlush(
                ByteBuffer(
                    string: "GET \(path)&RID=rpc&SID=\(parts[3])&AID=0&CI=0&TYPE=xmlhttp&t=1 HTTP/1.1\r\n"
                        + "Host: 127.0.0.1\r\n\r\n"))
            channels.append(channel)
        }
        try await Task.sleep(for: .milliseconds(500))
        return channels
    }
}
