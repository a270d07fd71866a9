import DataDirectory
import Foundation
import HostTesting
import TestSupport
@testable import ServiceAccounts
import Testing

@Suite struct ServiceAccountStoreTests {
    @Test func keyFilesHaveGooglesForm() throws {
        let account = try ServerAccount.shared.get()
        #expect(account.file["type"] == "service_account")
        #expect(account.file["project_id"] == ServerAccount.project)
        #expect(account.file["private_key_id"] == account.key.id)
        #expect(account.file["private_key"]?.hasPrefix("-----BEGIN PRIVATE KEY-----\n") == true)
        #expect(account.file["client_email"] == "shop@shop-prod.iam.gserviceaccount.com")
        #expect(account.file["client_id"]?.count == 21)
        #expect(account.file["token_uri"] == ServerAccount.tokenURI)
        #expect(account.file["universe_domain"] == "googleapis.com")
        #expect(account.file["auth_uri"] != nil)
    }

    @Test func keysAndTokensSurviveARestart() throws {
        let account = try ServerAccount.shared.get()
        let fixture = try ServerTokenFixture(account)
        let token = try fixture.tokens.exchange(try account.assertion())
        let path = fixture.directory.path + "/service-accounts"
        let again = try ServiceAccountStore(in: path)
        #expect(again.keys == [account.key])
        let tokens = ServerTokens(again, project: ServerAccount.project, now: fixture.clock.wall)
        #expect(tokens.verify(token)?.keyID == account.key.id)
        _ = try again.revoke(account.key.id)
        #expect(try ServiceAccountStore(in: path).keys.isEmpty)
    }

    /// The private key is in the key file and nowhere else.
    @Test func thePrivateKeyIsNotKept() throws {
        let account = try ServerAccount.shared.get()
        let fixture = try ServerTokenFixture(account)
        let path = fixture.directory.path + "/service-accounts"
        for name in try FileManager.default.contentsOfDirectory(atPath: path) {
            let text = String(
                decoding: FileManager.default.contents(atPath: path + "/" + name) ?? Data(), as: UTF8.self)
            #expect(!text.contains("PRIVATE"))
            let mode = try FileManager.default.attributesOfItem(atPath: path + "/" + name)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }

    @Test func keysAreRevokedByTheBeginningOfTheirID() throws {
        let (one, two) = try (ServerAccount.shared.get(), ServerAccount.other.get())
        let fixture = try ServerTokenFixture(one, two)
        #expect(throws: ServiceAccountError.self) { try fixture.store.revoke("") }
        #expect(throws: ServiceAccountError.self) { try fixture.store.revoke("g") }
        let prefix = String(zip(one.key.id, two.key.id).prefix { $0 == $1 }.map(\.0))
        #expect(throws: ServiceAccountError.self) { try fixture.store.revoke(prefix) }
        #expect(try fixture.store.revoke(String(one.key.id.prefix(prefix.count + 1))) == one.key)
        #expect(fixture.store.keys == [two.key])
    }

    @Test func aSignatureThatNamesNoKeyIsOfOneOfTheAddress() throws {
        let (one, two) = try (ServerAccount.shared.get(), ServerAccount.other.get())
        let fixture = try ServerTokenFixture(one, two)
        func count(_ email: String, _ id: String?) -> Int { fixture.store.publicKeys(of: email, id: id).count }
        #expect(count(one.key.email, nil) == 2)
        #expect(count(one.key.email, one.key.id) == 1)
        #expect(count("eve@shop-prod.iam.gserviceaccount.com", nil) == 0)
        #expect(count("eve@shop-prod.iam.gserviceaccount.com", one.key.id) == 0)
        _ = try fixture.store.revoke(one.key.id)
        #expect(count(one.key.email, nil) == 1)
        #expect(count(one.key.email, one.key.id) == 0)
    }

    @Test(arguments: ["0.json", "token-secret"])
    func damagedFilesStopTheStart(_ name: String) throws {
        let directory = try TemporaryDirectory()
        try Data("?".utf8).write(to: URL(fileURLWithPath: directory.path + "/" + name))
        let error = #expect(throws: ServiceAccountError.self) { try ServiceAccountStore(in: directory.path) }
        #expect(error?.description.contains("\(directory.path)/\(name) is damaged") == true)
    }

    /// What another user has copied there isn't damaged: to delete it would revoke keys that are good.
    @Test(arguments: ["", "/0.json", "/token-secret"])
    func whatCannotBeReadIsNotTakenForDamaged(_ name: String) throws {
        let directory = try TemporaryDirectory()
        let place = directory.file("keys")
        if name.isEmpty {
            try directory.write("keys", "not a directory")
        } else {
            try FileManager.default.createDirectory(atPath: place + name, withIntermediateDirectories: true)
        }
        #expect(
            throws: ServiceAccountError("\(place)\(name) can't be read; it must belong to the user that runs the host")
        ) {
            try ServiceAccountStore(in: place)
        }
    }

    @Test(arguments: ["", "Shop", "1shop", "shop-", "a/b", "../x", String(repeating: "a", count: 64)])
    func namesAreChecked(_ name: String) { #expect(!ServiceAccountKey.isName(name)) }

    @Test func filesAreNeverOverwritten() throws {
        let path = try TemporaryDirectory()
        let file = path.path + "/key.json"
        try FileBytes.create(file, with: [1])
        #expect(throws: DataDirectoryError("\(file) already exists; name another file")) {
            try FileBytes.create(file, with: [2])
        }
        #expect(FileManager.default.contents(atPath: file) == Data([1]))
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
    }
}
