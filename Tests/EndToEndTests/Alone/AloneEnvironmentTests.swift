import Foundation
import NIOCore
import NIOPosix
import TestSupport
import Testing

/// What a standalone bundle reads from its environment.
@Suite(.endsHangs) struct AloneEnvironmentTests {
    private let project = RunningBundle.project

    @Test func withoutAPortItSaysWhatItCanDo() async throws {
        let (errors, status) = try await RunningBundle.refusal(["GOOGLE_CLOUD_PROJECT": "demo-shop"])
        #expect(status == 64)
        for command in ["serve [--port N]", "manifest", "worker NAME"] {
            #expect(errors.contains(command), "\(errors)")
        }
        let wrong = try await RunningBundle.refusal(project, arguments: ["serve", "--prt", "1"])
        #expect(wrong.status == 64)
        #expect(wrong.errors.contains("serve [--port N]"))
    }

    @Test func allThatIsMissingOrWrongIsNamedAtOnce() async throws {
        let (errors, status) = try await RunningBundle.refusal(
            ["PORT": "0", "GOOGLE_CLOUD_PROJECT": "demo-shop", "LIMIT": "many"])
        #expect(status == 78)
        #expect(errors.contains("the param LIMIT is an integer"), "\(errors)")
        #expect(errors.contains("the secret API_KEY, which readsSecret needs, has no value"), "\(errors)")
        #expect(!errors.contains("many"))
        let variables = try await RunningBundle.refusal(
            ["PORT": "http", "GCLOUD_PROJECT": "Demo", "FIREBASE_AUTH_EMULATOR_HOST": "http://localhost:9099"])
        #expect(variables.status == 78)
        for word in [#"PORT is "http""#, #"GCLOUD_PROJECT is "Demo""#, "write host and port alone"] {
            #expect(variables.errors.contains(word), "\(variables.errors)")
        }
    }

    @Test func aPortThatIsTakenIsNamed() async throws {
        try await RunningBundle.serving(project.merging(["PORT": "http"]) { $1 }, arguments: ["serve", "--port=0"]) {
            bundle in
            let taken = project.merging(["PORT": "\(bundle.functions.port)"]) { $1 }
            let (errors, status) = try await RunningBundle.refusal(taken)
            #expect(status == 78)
            #expect(errors.contains("the port \(bundle.functions.port) is taken"), "\(errors)")
        }
    }

    @Test func paramsAndSecretsComeFromVariables() async throws {
        let given = ["GREETING": "Hi", "LIMIT": "2", "OTHER": "seen", "K_SERVICE": "", "K_REVISION": "shop-00001"]
        try await RunningBundle.serving(project.merging(given) { $1 }) { bundle in
            #expect(try await bundle.call("hello", #""Ada""#).text == #"{"result":"Hi, Ada, 2 times"}"#)
            let key = try #require(project["API_KEY"])
            #expect(try await bundle.call("readsSecret", "null").json["result"]?.integer == key.utf8.count)
            let names = #"["API_KEY","PORT","OTHER","GCLOUD_PROJECT","K_SERVICE","K_REVISION","FUNCTION_TARGET","TZ"]"#
            let seen = try await bundle.call("environment", names)
            #expect(
                seen.text
                    == #"{"result":[null,null,"seen","demo-shop","environment","shop-00001","environment","UTC"]}"#)
            try await Bound.wait("the line is logged") { bundle.process.errors.contains("the key is ●●●!") }
            #expect(!bundle.process.errors.contains(key))
            #expect(bundle.process.output.isEmpty)
        }
    }

    @Test func onAPlatformTheLogIsJSON() async throws {
        try await RunningBundle.serving(RunningBundle.platform) { bundle in
            _ = try await bundle.call("readsSecret", "null", path: "/readsSecret")
            try await Bound.wait("the line is logged") { bundle.process.output.contains("the key is ●●●!") }
            let lines = try bundle.process.output.split(separator: "\n").map { try JSON(parsing: String($0)) }
            let line = try #require(lines.first { $0["message"]?.text == "the key is ●●●!" })
            #expect(line["severity"]?.text == "INFO")
            let labels = try #require(line["logging.googleapis.com/labels"])
            #expect(labels["logger"]?.text == "readsSecret")
            #expect(labels["reason"]?.text == #""test""#)
            #expect(labels["execution.id"]?.text != nil)
            #expect(bundle.process.errors.isEmpty)
        }
    }

    #if os(Linux)
        /// What is opened next would otherwise be the standard file.
        @Test func aClosedStandardFileIsNotTakenByAnother() async throws {
            try await RunningBundle.serving(hasInput: false) { bundle in
                let input = "/proc/\(bundle.process.id)/fd/0"
                let file = try FileManager.default.destinationOfSymbolicLink(atPath: input)
                #expect(file == "/dev/null")
            }
        }
    #endif

    @Test func theMetadataServerKnowsTheProject() async throws {
        let unknown = project.filter { $0.key != "GOOGLE_CLOUD_PROJECT" }
        try await RunningBundle.serving(project.merging(["FUNCTION_TARGET": "metadata"]) { $1 }) { server in
            let host = ["GCE_METADATA_HOST": "127.0.0.1:\(server.functions.port)"]
            try await RunningBundle.serving(unknown.merging(host) { $1 }, isSecond: true) { bundle in
                #expect(bundle.process.errors.contains("project=demo-cloud"))
                let answer = try await bundle.call("hello", #""Ada""#, path: "/demo-cloud/us-central1/hello")
                #expect(answer.status == 200)
            }
        }
    }

    /// Neither who refuses nor who takes the connection and is silent keeps the bundle from starting.
    @Test func withoutAMetadataServerTheProjectIsAskedFor() async throws {
        let silent = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        let unknown = project.filter { $0.key != "GOOGLE_CLOUD_PROJECT" }
        for port in [9, try #require(silent.localAddress?.port)] {
            let (errors, status) = try await RunningBundle.refusal(
                unknown.merging(["GCE_METADATA_HOST": "127.0.0.1:\(port)"]) { $1 })
            #expect(status == 78)
            #expect(errors.contains("GOOGLE_CLOUD_PROJECT isn't set"), "\(errors)")
        }
        try await silent.close()
    }

    /// Of the machine's own addresses 127.0.0.2 stands for those that a network knows.
    @Test func whereAnybodysTokensCountNoNetworkIsServed() async throws {
        try await RunningBundle.serving(RunningBundle.development) { bundle in
            let own = try await bundle.call("hello", #""Ada""#)
            #expect(own.status == 200)
            await #expect(throws: (any Error).self) {
                try await HTTPClient(port: bundle.functions.port, host: "127.0.0.2").send("GET", "/__/health")
            }
        }
        try await RunningBundle.serving(RunningBundle.development.merging(["HOST": "0.0.0.0"]) { $1 }) { bundle in
            let other = HTTPClient(port: bundle.functions.port, host: "127.0.0.2")
            let answer = try await other.send("GET", "/__/health")
            #expect(answer.status == 200)
        }
    }

    @Test func onAPlatformErrorsOfTheStartAreJSON() async throws {
        let (errors, status) = try await RunningBundle.refusal(RunningBundle.platform.filter { $0.key != "API_KEY" })
        #expect(status == 78)
        for line in errors.split(separator: "\n") {
            let line = try JSON(parsing: String(line))
            #expect(line["severity"]?.text == "CRITICAL")
            #expect(line["message"]?.text?.contains("API_KEY") == true)
        }
        #expect(!errors.isEmpty)
    }
}
