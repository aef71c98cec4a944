//! Delivered mail can be read, or the error says where it is: under any name of the project, and whether or not the
//! daemon was started with the database's address.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use mail::home::{Choice, Home, HomeOptions};
use mail::identity::{Identities, Identity};
use mail::store::postgres::without_password;
use mail::{Limits, Refusal, Session, Space, StoreError};

use crate::fixture::{ManualClock, StoreFixture, limits, next_session};
use crate::postgres::Server;

/// A project on a machine.
struct Project {
    dir: PathBuf,
    host: &'static str,
    database: Arc<Mutex<Option<String>>>,
    _temp: Option<tempfile::TempDir>,
}

impl Project {
    fn new(host: &'static str, database: Option<&Server>) -> Project {
        let temp = tempfile::tempdir().unwrap();
        let database = Arc::new(Mutex::new(database.map(Server::url)));
        Project { dir: temp.path().to_owned(), host, database, _temp: Some(temp) }
    }

    fn database(&self, url: Option<String>) {
        *self.database.lock().unwrap() = url;
    }

    /// Returns the home of a newly started daemon.
    fn home(&self, space: &Space) -> Home {
        let database = Arc::clone(&self.database);
        Home::new(HomeOptions {
            dir: self.dir.clone(),
            host: self.host.to_owned(),
            owner: format!("{}:{}", self.host, self.dir.display()),
            space: space.clone(),
            called: format!("the project as {space}"),
            limits: Limits::default(),
            database: Box::new(move || Ok(database.lock().unwrap().clone())),
            address_file: self.dir.join("mail-database"),
        })
    }

    async fn open(&self, space: &Space) -> Result<StoreFixture, StoreError> {
        let store = self.home(space).open().await?;
        Ok(StoreFixture::with(store, limits(), ManualClock(mail::Clock::manual(0).1), Box::new(())).await)
    }

    async fn opens(&self, space: &Space) -> StoreFixture {
        self.open(space).await.unwrap()
    }

    /// Returns the error of opening: the location of the mail, the configured one, and the next step.
    async fn refused(&self, space: &Space) -> (String, String, String) {
        let home = self.home(space);
        let error = home.open().await.err().expect("it is refused");
        // [`Home::report_location`] reports the same.
        let look = home.report_location();
        assert_eq!(look.problem.as_ref().map(|(said, _)| said), Some(&error.to_string()), "{look:?}");
        match error {
            StoreError::Elsewhere { former, now, next } => (former, now, next.join(" ")),
            other => panic!("{other}"),
        }
    }

    /// Returns an agent of this project in a separate worktree.
    async fn agent(&self, fixture: &StoreFixture, name: &str) -> Session {
        let worktree = self.dir.join(name);
        Identities::new(self.dir.join("identities")).save(&identity(name, &worktree, "")).unwrap();
        let request = mail::EnterRequest {
            agent: mail::AgentName::new(name).unwrap(),
            session: mail::SessionId::mint(),
            holder: mail::Holder { host: self.host.to_owned(), worktree: worktree.display().to_string() },
            takeover: false,
            moved_from: None,
            create: true,
            profile: mail::Profile { role: Some(mail::Role::new("dev").unwrap()), ..mail::Profile::default() },
        };
        fixture.mail.enter(request).await.unwrap().session
    }

    /// Two agents, and a waiting message from one to the other.
    async fn with_mail(&self, space: &Space, text: &str) -> (Session, Session) {
        let fixture = self.opens(space).await;
        let (ann, bob) = (self.agent(&fixture, "ann").await, self.agent(&fixture, "bob").await);
        fixture.send(&ann, "bob", text).await.unwrap();
        fixture.mail.close().await;
        (ann, bob)
    }
}

fn identity(name: &str, worktree: &Path, space: &str) -> Identity {
    Identity {
        name: name.to_owned(),
        role: "dev".to_owned(),
        module: String::new(),
        repo_id: space.to_owned(),
        worktree: Some(worktree.to_owned()),
        ..Identity::default()
    }
}

fn origin(name: &str) -> Space {
    Space::of_origin(&format!("https://example.org/{name}"))
}

fn path(name: &str) -> Space {
    Space::of_path("here", Path::new(&format!("/no/such/{name}")))
}

/// Everything in the mailbox, read or not.
async fn contents(fixture: &StoreFixture, agent: &Session) -> Vec<String> {
    let found = fixture.mail.read_mailbox(agent, 0, mail::Floor::All, 50).await.unwrap();
    found.messages.into_iter().map(|message| message.content).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_this_project_s_alone_goes_along_whatever_it_is_called() {
    let Some(server) = Server::start() else { return };
    let project = Project::new("here", Some(&server));
    let (ann, bob) = project.with_mail(&path("tool"), "first").await;
    let names = [
        // The directory was moved; `git remote add`; another origin; a configured name; and back.
        path("moved"),
        origin("tool"),
        origin("renamed"),
        Space::named("team"),
        origin("tool"),
    ];
    let mut sent = vec!["first".to_owned()];
    for (number, name) in names.iter().enumerate() {
        let fixture = project.opens(name).await;
        assert_eq!(contents(&fixture, &bob).await, sent, "as {name}");
        let text = number.to_string();
        let id = fixture.send(&ann, "bob", &text).await.unwrap().id;
        sent.push(text);
        assert_eq!(fixture.mail.thread(&ann, id.as_str()).await.unwrap().len(), 1);
        fixture.mail.close().await;
    }
    let fixture = project.opens(&names[4]).await;
    assert_eq!(fixture.check(&next_session(&bob)).await, sent);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_that_gets_an_origin_joins_its_clones_with_all_its_mail() {
    let Some(server) = Server::start() else { return };
    let (here, there) = (Project::new("here", Some(&server)), Project::new("there", Some(&server)));
    let (_, bob) = here.with_mail(&path("tool"), "before the origin").await;
    // Another clone, on another machine, is already there.
    let clone = there.opens(&origin("tool")).await;
    let cat = there.agent(&clone, "cat").await;
    clone.mail.create_group(&cat, "team", "").await.unwrap();
    let fixture = here.opens(&origin("tool")).await;
    fixture.send(&next_session(&cat), "bob", "after").await.unwrap();
    assert_eq!(fixture.check(&next_session(&bob)).await, ["before the origin", "after"]);
    let names = |agents: Vec<mail::Agent>| agents.iter().map(|agent| agent.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(clone.mail.agents().await.unwrap()), ["ann", "bob", "cat"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_others_are_too_nothing_moves_and_every_call_says_where_the_mail_is() {
    let Some(server) = Server::start() else { return };
    let (here, there) = (Project::new("here", Some(&server)), Project::new("there", Some(&server)));
    let (ann, bob) = here.with_mail(&origin("tool"), "in the former").await;
    let clone = there.opens(&origin("tool")).await;
    let cat = there.agent(&clone, "cat").await;
    for _ in 0..2 {
        let (former, now, next) = here.refused(&origin("renamed")).await;
        assert!(former.contains(origin("tool").as_str()) && now.contains(origin("renamed").as_str()), "{former} {now}");
        for part in
            ["(cat)", "1 message waits there", "`hob mail keep`", "`hob mail switch`", "Nothing was sent or read"]
        {
            assert!(next.contains(part), "{part}: {next}");
        }
    }
    // Naming another project gives no access to its mail.
    let thief = Project::new("else", Some(&server));
    let fixture = thief.opens(&Space::named(origin("tool").as_str())).await;
    assert!(fixture.mail.agents().await.unwrap().is_empty());

    // Kept: the mail stays there under any name of the project, until something else is configured.
    let said = here.home(&origin("renamed")).choose(Choice::Keep).unwrap();
    assert!(said.contains("stays in"), "{said}");
    let fixture = here.opens(&origin("renamed")).await;
    assert_eq!(contents(&fixture, &bob).await, ["in the former"]);
    clone.send(&cat, "bob", "from the other clone").await.unwrap();
    assert_eq!(contents(&fixture, &bob).await.len(), 2);
    fixture.mail.close().await;
    let look = here.home(&origin("renamed")).report_location();
    assert!(look.problem.is_none() && look.remark.unwrap().contains("kept there"));
    here.refused(&origin("third")).await;

    // Switched: an empty store.
    let said = here.home(&origin("renamed")).choose(Choice::Switch).unwrap();
    assert!(said.contains("stays there and is not shown"), "{said}");
    let fixture = here.opens(&origin("renamed")).await;
    let ann = here.agent(&fixture, ann.agent.as_str()).await;
    here.agent(&fixture, "bob").await;
    fixture.send(&ann, "bob", "in the new one").await.unwrap();
    assert_eq!(contents(&fixture, &bob).await, ["in the new one"]);
    fixture.mail.close().await;
    let said = here.home(&origin("renamed")).choose(Choice::Keep).unwrap();
    assert!(said.contains("Nothing to change"), "{said}");
    // The mail that was left there is still there.
    assert_eq!(contents(&clone, &bob).await, ["in the former", "from the other clone"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_is_another_s_in_the_new_space_is_in_the_way() {
    let Some(server) = Server::start() else { return };
    let (here, there) = (Project::new("here", Some(&server)), Project::new("there", Some(&server)));
    let (_, bob) = here.with_mail(&path("tool"), "for the bob of here").await;
    let (_, other) = there.with_mail(&origin("tool"), "for the bob of there").await;
    let (_, _, next) = here.refused(&origin("tool")).await;
    assert!(next.contains("with the same names (ann, bob)"), "{next}");
    let fixture = there.opens(&origin("tool")).await;
    assert_eq!(contents(&fixture, &other).await, ["for the bob of there"]);
    here.home(&origin("tool")).choose(Choice::Keep).unwrap();
    assert_eq!(contents(&here.opens(&origin("tool")).await, &bob).await, ["for the bob of here"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_or_without_the_address_in_its_environment_a_daemon_knows_where_the_mail_is() {
    let Some(server) = Server::start() else { return };
    let space = origin("tool");
    // First the file, then a daemon with the database's address.
    let project = Project::new("here", None);
    let (_, bob) = project.with_mail(&space, "in the file").await;
    project.database(Some(server.url()));
    let (former, now, next) = project.refused(&space).await;
    assert!(former.contains("mail.db (1 message, of which 1 is to be read)"), "{former}");
    assert!(now.starts_with("postgres://hob@") && next.contains("`hob mail keep`"), "{now}: {next}");
    project.home(&space).choose(Choice::Keep).unwrap();
    assert_eq!(contents(&project.opens(&space).await, &bob).await, ["in the file"]);
    project.database(None);
    assert_eq!(contents(&project.opens(&space).await, &bob).await, ["in the file"]);
    project.database(Some(server.url()));
    project.home(&space).choose(Choice::Switch).unwrap();
    let fixture = project.opens(&space).await;
    assert!(contents(&fixture, &bob).await.is_empty());
    fixture.mail.close().await;

    // First the database, then a daemon without the address, and one with another address.
    let project = Project::new("there", Some(&server));
    let (_, bob) = project.with_mail(&space, "in the database").await;
    project.database(None);
    let (former, now, next) = project.refused(&space).await;
    assert!(former.starts_with("postgres://hob@") && former.contains(space.as_str()), "{former}");
    assert!(now.contains("its own file"), "{now}");
    for part in ["HOB_MAIL_DATABASE", "mail-database", "`hob stop`", "`hob mail switch`"] {
        assert!(next.contains(part), "{part}: {next}");
    }
    assert!(project.home(&space).choose(Choice::Keep).is_err(), "without the address nobody can");
    let Some(another) = Server::start() else { return };
    project.database(Some(another.url()));
    let error = project.open(&space).await.err().unwrap();
    assert!(matches!(error, StoreError::Elsewhere { .. }), "{error}");
    // The same database under another address counts as the same.
    let other_way = server.url().replace("user=hob", "user=postgres&application_name=x").replace("postgres&", "hob&");
    project.database(Some(other_way));
    assert_eq!(contents(&project.opens(&space).await, &bob).await, ["in the database"]);
    project.database(None);
    project.home(&space).choose(Choice::Switch).unwrap();
    assert!(project.opens(&space).await.mail.agents().await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_is_none_is_named_and_an_address_shows_no_password() {
    let project = Project::new("here", None);
    std::fs::write(project.dir.join("mail-place.json"), "rubbish").unwrap();
    let error = project.open(&origin("tool")).await.err().unwrap();
    assert!(
        error.to_string().contains("mail-place.json is not a file of yours that only you can read (chmod 600)"),
        "{error}"
    );
    assert!(error.hints()[0].contains("delete it"));
    assert!(project.home(&origin("tool")).report_location().problem.is_some());
    let address = without_password("postgres://agents:SECRET@db.example.org:6543/mail?sslmode=require").unwrap();
    assert_eq!(address, "postgres://agents@db.example.org:6543/mail");
    assert_eq!(without_password("no address"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_gone_is_not_begun_anew_by_itself() {
    let project = Project::new("here", None);
    let space = origin("tool");
    let fixture = project.opens(&space).await;
    let ann = project.agent(&fixture, "ann").await;
    fixture.mail.close().await;
    let identities = Identities::new(project.dir.join("identities"));
    // As registration writes it.
    identities.save(&identity("ann", &project.dir.join("ann"), space.as_str())).unwrap();
    let aside = project.dir.join("aside");
    std::fs::rename(project.dir.join("mail.db"), &aside).unwrap();
    for _ in 0..2 {
        let error = project.open(&space).await.err().unwrap();
        assert!(error.to_string().ends_with("mail.db no longer exists"), "{error}");
        for part in ["Put it back", "HOB_MAIL_DATABASE", "`hob mail switch`"] {
            assert!(error.hints()[0].contains(part), "{part}: {:?}", error.hints());
        }
        assert!(project.home(&space).report_location().problem.is_some());
        assert!(project.home(&space).choose(Choice::Keep).is_err());
    }
    std::fs::rename(&aside, project.dir.join("mail.db")).unwrap();
    let fixture = project.opens(&space).await;
    assert_eq!(fixture.mail.agent("ann").await.unwrap().name, ann.agent);
    fixture.mail.close().await;
    std::fs::remove_file(project.dir.join("mail.db")).unwrap();
    assert!(project.home(&space).choose(Choice::Switch).unwrap().contains("starts empty"));
    assert!(project.opens(&space).await.mail.agents().await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_file_is_in_nobody_s_way() {
    let Some(server) = Server::start() else { return };
    let project = Project::new("here", None);
    let fixture = project.opens(&origin("tool")).await;
    let ann = project.agent(&fixture, "ann").await;
    let refusal = fixture.send(&ann, "nobody", "x").await.unwrap_err();
    assert!(matches!(refusal, mail::MailError::Refused(Refusal::UnknownRecipient { .. })));
    fixture.mail.close().await;
    project.database(Some(server.url()));
    project.opens(&origin("tool")).await;
}
